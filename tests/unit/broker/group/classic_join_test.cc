#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

proto::JoinGroupRequest request_with(std::string_view group, int32_t session_ms) {
  proto::JoinGroupRequest request;
  request.group_id = group;
  request.session_timeout_ms = session_ms;
  return request;
}

TEST_F(GroupTest, RequestsAreCheckedBeforeAnyGroup) {
  EXPECT_EQ(ClassicGroups::check_join(config, request_with("", 10'000)),
            ErrorCode::kInvalidGroupId);
  EXPECT_EQ(ClassicGroups::check_join(config, request_with("g", 5'999)),
            ErrorCode::kInvalidSessionTimeout);
  EXPECT_EQ(ClassicGroups::check_join(config, request_with("g", 6'000)), ErrorCode::kNone);
  EXPECT_EQ(ClassicGroups::check_join(config, request_with("g", 1'800'001)),
            ErrorCode::kInvalidSessionTimeout);
}

TEST_F(GroupTest, NewDynamicMemberGetsAnIdFirst) {
  Joined& first = join({});
  EXPECT_TRUE(first.answered);
  EXPECT_EQ(first.error, ErrorCode::kMemberIdRequired);
  EXPECT_EQ(first.generation, -1);
  ASSERT_EQ(first.member_id.size(), std::string("client-").size() + 36);
  EXPECT_TRUE(first.member_id.starts_with("client-"));
  EXPECT_NE(first.member_id, new_id());
}

TEST_F(GroupTest, BeforeVersion4TheFirstJoinCounts) {
  Joined& joined = join({.version = 3});
  EXPECT_FALSE(joined.answered);
  pass_ms(3'001);
  EXPECT_TRUE(joined.answered);
  EXPECT_EQ(joined.error, ErrorCode::kNone);
  EXPECT_EQ(joined.generation, 1);
}

TEST_F(GroupTest, IdOfAnUnknownGroupOrMemberIsRefused) {
  EXPECT_EQ(join({.member_id = "nobody"}).error, ErrorCode::kUnknownMemberId);
  EXPECT_EQ(groups().find("g"), nullptr);
  stable_group();
  Joined& refused = join({.member_id = "nobody"});
  EXPECT_EQ(refused.error, ErrorCode::kUnknownMemberId);
  EXPECT_EQ(refused.member_id, "nobody");
}

TEST_F(GroupTest, ProtocolsMustFit) {
  EXPECT_EQ(join({.type = ""}).error, ErrorCode::kInconsistentGroupProtocol);
  EXPECT_EQ(join({.protocols = {}}).error, ErrorCode::kInconsistentGroupProtocol);
  stable_group({.protocols = {{"range", "r"}, {"sticky", "s"}}});
  EXPECT_EQ(join({.type = "connect"}).error, ErrorCode::kInconsistentGroupProtocol);
  EXPECT_EQ(join({.protocols = {{"roundrobin", ""}}}).error, ErrorCode::kInconsistentGroupProtocol);
  EXPECT_EQ(join({.protocols = {{"sticky", ""}}}).error, ErrorCode::kMemberIdRequired);
}

TEST_F(GroupTest, FirstRebalanceWaitsForMoreMembers) {
  Joined& a = join_dynamic();
  pass_ms(2'000);
  Joined& b = join_dynamic();
  EXPECT_FALSE(a.answered);
  pass_ms(1'500);  // 3 s since the first: the second extends the wait
  EXPECT_FALSE(a.answered);
  pass_ms(3'000);
  ASSERT_TRUE(a.answered);
  ASSERT_TRUE(b.answered);
  EXPECT_EQ(a.generation, 1);
  EXPECT_EQ(b.generation, 1);
  EXPECT_EQ(a.leader, b.leader);
  const Joined& leader = a.leader == a.member_id ? a : b;
  const Joined& other = a.leader == a.member_id ? b : a;
  EXPECT_EQ(leader.members.size(), 2u);
  EXPECT_EQ(other.members.size(), 0u);
  EXPECT_EQ(leader.protocol, "range");
  EXPECT_EQ(leader.protocol_type, "consumer");
}

TEST_F(GroupTest, FirstRebalanceNeverWaitsLongerThanTheRebalanceTimeout) {
  config.initial_rebalance_delay_ms = 3'000;
  Joined& a = join_dynamic({.rebalance_ms = 7'000});
  for (int i = 0; i < 6; ++i) {
    pass_ms(1'100);
    join_dynamic({.rebalance_ms = 7'000});
  }
  EXPECT_FALSE(a.answered);
  pass_ms(500);
  EXPECT_TRUE(a.answered);
}

TEST_F(GroupTest, MostVotedCommonProtocolWins) {
  Joined& a = join_dynamic({.protocols = {{"x", "xa"}, {"y", "ya"}, {"z", ""}}});
  Joined& b = join_dynamic({.protocols = {{"y", "yb"}, {"x", "xb"}}});
  join_dynamic({.protocols = {{"y", "yc"}, {"x", "xc"}}});
  pass_ms(7'000);
  ASSERT_TRUE(a.answered);
  EXPECT_EQ(a.protocol, "y");
  const Joined& leader = a.leader == a.member_id ? a : b;
  for (const auto& member : leader.members) EXPECT_EQ(member.metadata.front(), 'y');
}

TEST_F(GroupTest, NewMemberRebalancesAStableGroup) {
  std::string a = stable_group();
  Joined& b = join_dynamic();
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kRebalanceInProgress);
  EXPECT_FALSE(b.answered);
  Joined& again = join({.member_id = a});
  ASSERT_TRUE(again.answered);
  ASSERT_TRUE(b.answered);
  EXPECT_EQ(again.generation, 2);
  EXPECT_EQ(again.leader, a);
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, MemberThatDoesNotRejoinInTimeIsRemoved) {
  std::string a = stable_group({.session_ms = 100'000, .rebalance_ms = 20'000});
  Joined& b = join_dynamic({.rebalance_ms = 15'000});
  pass_ms(19'990);
  EXPECT_FALSE(b.answered);
  pass_ms(20);
  ASSERT_TRUE(b.answered);
  EXPECT_EQ(b.leader, b.member_id);
  EXPECT_EQ(b.members.size(), 1u);
  EXPECT_EQ(heartbeat(a, 2), ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, GivenIdThatIsNotUsedHoldsTheRebalanceUntilItsSessionEnds) {
  std::string a = stable_group();
  new_id({.session_ms = 8'000});
  Joined& b = join_dynamic();
  Joined& again = join({.member_id = a});
  EXPECT_FALSE(b.answered);
  pass_ms(8'001);
  EXPECT_TRUE(b.answered);
  EXPECT_TRUE(again.answered);
}

TEST_F(GroupTest, FollowerRejoiningUnchangedGetsItsGeneration) {
  Joined& a = join_dynamic();
  Joined& b = join_dynamic();
  pass_ms(6'001);
  std::string leader = a.leader;
  std::string follower = leader == a.member_id ? b.member_id : a.member_id;
  // Completing: the answer may have been lost.
  EXPECT_EQ(join({.member_id = follower}).generation, 1);
  Joined& of_leader = join({.member_id = leader});
  EXPECT_EQ(of_leader.members.size(), 2u);
  sync(leader, 1, {{leader, "x"}, {follower, "y"}});
  commit();
  Joined& stable = join({.member_id = follower});
  ASSERT_TRUE(stable.answered);
  EXPECT_EQ(stable.generation, 1);
  EXPECT_TRUE(stable.members.empty());
  EXPECT_EQ(state(), GroupState::kStable);
  // Other metadata, and the leader in any case: a rebalance.
  EXPECT_FALSE(join({.member_id = leader}).answered);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
  EXPECT_EQ(join({.member_id = follower, .protocols = {{"range", "new"}}}).generation, 2);
}

TEST_F(GroupTest, ChangedMetadataWhileCompletingRebalances) {
  Joined& a = join_dynamic();
  pass_ms(3'001);
  Joined& changed = join({.member_id = a.member_id, .protocols = {{"range", "new"}}});
  ASSERT_TRUE(changed.answered);
  EXPECT_EQ(changed.generation, 2);
  EXPECT_EQ(changed.members[0].metadata, "new");
}

TEST_F(GroupTest, SecondJoinOfAMemberAnswersTheFirst) {
  std::string a = stable_group();
  join_dynamic();
  std::string b = new_id();
  Joined& first = join({.member_id = b});
  Joined& second = join({.member_id = b});
  EXPECT_TRUE(first.answered);
  EXPECT_EQ(first.error, ErrorCode::kRebalanceInProgress);
  EXPECT_FALSE(second.answered);
}

TEST_F(GroupTest, GroupSizeIsLimited) {
  config.max_size = 2;
  Joined& a = join_dynamic();
  join_dynamic();
  EXPECT_EQ(join({}).error, ErrorCode::kGroupMaxSizeReached);
  pass_ms(9'001);
  EXPECT_TRUE(a.answered);
  Joined& late = join({});
  EXPECT_EQ(late.error, ErrorCode::kGroupMaxSizeReached);
  EXPECT_EQ(late.member_id, "");
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, NewMemberIsGivenUpAfterFiveMinutes) {
  std::string a = stable_group({.session_ms = 1'000'000, .rebalance_ms = 1'000'000});
  Joined& b = join_dynamic();
  pass_ms(299'999);
  EXPECT_FALSE(b.answered);
  pass_ms(2);
  ASSERT_TRUE(b.answered);
  EXPECT_EQ(b.error, ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, AMemberHasNotMoreProtocolsThanAnyClientHas) {
  std::vector<proto::JoinGroupRequest::JoinGroupRequestProtocol> protocols(10'000);
  proto::JoinGroupRequest request;
  request.group_id = "g";
  request.session_timeout_ms = 10'000;
  request.protocols = protocols;
  EXPECT_EQ(ClassicGroups::check_join(config, request), ErrorCode::kNone);
  protocols.emplace_back();
  request.protocols = protocols;
  EXPECT_EQ(ClassicGroups::check_join(config, request), ErrorCode::kInconsistentGroupProtocol);
}

TEST_F(GroupTest, MemberIdsFitIntoAString) {
  proto::JoinGroupRequest request;
  request.group_id = "g";
  request.session_timeout_ms = 10'000;
  request.protocol_type = "consumer";
  proto::JoinGroupRequest::JoinGroupRequestProtocol protocol{.name = "range"};
  request.protocols = {&protocol, 1};
  std::string long_id(32'766, 'c');
  long_id.replace(32'728, 3, "\xE2\x82\xAC");  // a character where the id is cut
  Joined joined;
  groups().join({.version = 4, .client_id = long_id, .client_host = "/127.0.0.1"}, request, joined);
  EXPECT_EQ(joined.error, ErrorCode::kMemberIdRequired);
  EXPECT_EQ(joined.member_id.size(), 32'728u + 37);
  EXPECT_EQ(joined.member_id.substr(0, 32'729), long_id.substr(0, 32'728) + "-");
}

}  // namespace
}  // namespace pelton::broker::group
