#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

TEST_F(GroupTest, AssignmentIsStoredBeforeAnybodyGetsIt) {
  Joined& a = join_dynamic();
  Joined& b = join_dynamic();
  pass_ms(6'001);
  std::string leader = a.leader;
  std::string follower = leader == a.member_id ? b.member_id : a.member_id;
  Synced& early = sync(follower, 1);
  EXPECT_FALSE(early.answered);
  Synced& of_leader = sync(leader, 1, {{leader, "x"}, {follower, "y"}});
  end_turn();
  EXPECT_FALSE(of_leader.answered);
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
  log->commit();
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(of_leader.assignment, "x");
  EXPECT_EQ(early.assignment, "y");
  EXPECT_EQ(early.protocol, "range");
  EXPECT_EQ(sync(follower, 1).assignment, "y");
}

TEST_F(GroupTest, SyncIsRefusedForGoodReasons) {
  EXPECT_EQ(sync("x", 1).error, ErrorCode::kUnknownMemberId);
  std::string id = new_id();
  EXPECT_EQ(sync(id, 0).error,
            ErrorCode::kUnknownMemberId);  // given, not joined: the group is empty
  std::string a = stable_group();
  EXPECT_EQ(sync("x", 1).error, ErrorCode::kUnknownMemberId);
  EXPECT_EQ(sync(a, 0).error, ErrorCode::kIllegalGeneration);
  EXPECT_EQ(sync(a, 1, {}, "instance").error, ErrorCode::kUnknownMemberId);
  proto::SyncGroupRequest other;
  other.group_id = "g";
  other.member_id = a;
  other.generation_id = 1;
  other.protocol_type = "connect";
  Synced synced;
  groups().sync(other, synced);
  EXPECT_EQ(synced.error, ErrorCode::kInconsistentGroupProtocol);
  join_dynamic();
  EXPECT_EQ(sync(a, 1).error, ErrorCode::kRebalanceInProgress);
}

TEST_F(GroupTest, RebalanceDuringSyncAnswersThoseWhoWait) {
  Joined& a = join_dynamic();
  Joined& b = join_dynamic();
  pass_ms(6'001);
  std::string follower = a.leader == a.member_id ? b.member_id : a.member_id;
  Synced& waiting = sync(follower, 1);
  join_dynamic();
  EXPECT_TRUE(waiting.answered);
  EXPECT_EQ(waiting.error, ErrorCode::kRebalanceInProgress);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
}

TEST_F(GroupTest, AssignmentOfAnOldGenerationIsDropped) {
  Joined& a = join_dynamic();
  pass_ms(3'001);
  Synced& synced = sync(a.member_id, 1, {{a.member_id, "old"}});
  Joined& b = join_dynamic();
  EXPECT_EQ(synced.error, ErrorCode::kRebalanceInProgress);
  Joined& again = join({.member_id = a.member_id});
  EXPECT_EQ(again.generation, 2);
  EXPECT_TRUE(b.answered);
  commit();  // the record of generation 1
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, MembersThatNeverSyncAreRemoved) {
  Joined& a = join_dynamic({.session_ms = 200'000, .rebalance_ms = 30'000});
  Joined& b = join_dynamic({.session_ms = 200'000, .rebalance_ms = 30'000});
  pass_ms(6'001);
  std::string leader = a.leader;
  std::string follower = leader == a.member_id ? b.member_id : a.member_id;
  sync(leader, 1, {{leader, "x"}});
  commit();
  EXPECT_EQ(state(), GroupState::kStable);
  pass_ms(30'001);
  EXPECT_EQ(heartbeat(follower, 1), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(heartbeat(leader, 1), ErrorCode::kRebalanceInProgress);
}

TEST_F(GroupTest, HeartbeatSaysHowTheGroupIs) {
  EXPECT_EQ(heartbeat("x", 1), ErrorCode::kUnknownMemberId);
  std::string a = stable_group();
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kNone);
  EXPECT_EQ(heartbeat(a, 2), ErrorCode::kIllegalGeneration);
  EXPECT_EQ(heartbeat("x", 1), ErrorCode::kUnknownMemberId);
  join_dynamic();
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kRebalanceInProgress);
}

TEST_F(GroupTest, SessionEndsWithoutHeartbeats) {
  std::string a = stable_group({.session_ms = 6'000});
  for (int i = 0; i < 4; ++i) {
    pass_ms(5'000);
    ASSERT_EQ(heartbeat(a, 1), ErrorCode::kNone);
  }
  pass_ms(6'001);
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_EQ(groups().find("g")->generation(), 2);
  commit();
  start();
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_EQ(groups().find("g")->generation(), 2);
}

TEST_F(GroupTest, MemberWaitingInARebalanceNeedsNoHeartbeats) {
  std::string a = stable_group({.session_ms = 6'000, .rebalance_ms = 60'000});
  Joined& b = join_dynamic({.rebalance_ms = 60'000});
  std::string c = new_id({.session_ms = 30'000});
  Joined& again = join({.member_id = a, .session_ms = 6'000});
  pass_ms(20'000);
  EXPECT_FALSE(b.answered);
  EXPECT_FALSE(again.answered);
  pass_ms(10'001);  // c's id has run out
  EXPECT_TRUE(again.answered);
  EXPECT_EQ(again.error, ErrorCode::kNone);
}

TEST_F(GroupTest, LeavingRebalancesTheOthers) {
  Joined& a = join_dynamic();
  Joined& b = join_dynamic();
  pass_ms(6'001);
  std::string leader = a.leader;
  std::string follower = leader == a.member_id ? b.member_id : a.member_id;
  sync(leader, 1, {});
  commit();
  EXPECT_EQ(leave("nobody"), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(leave(leader), ErrorCode::kNone);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
  Joined& again = join({.member_id = follower});
  EXPECT_EQ(again.generation, 2);
  EXPECT_EQ(again.leader, follower);
  EXPECT_EQ(leave(follower), ErrorCode::kNone);
  EXPECT_EQ(state(), GroupState::kEmpty);
  commit();
  start();
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_EQ(groups().find("g")->generation(), 3);
}

TEST_F(GroupTest, PendingMemberMayLeave) {
  std::string a = stable_group();
  std::string pending = new_id();
  EXPECT_EQ(leave(pending), ErrorCode::kNone);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);  // as in Kafka, though nobody was lost
  EXPECT_EQ(join({.member_id = pending}).error, ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, LeavingMemberThatWaitsIsAnswered) {
  stable_group();
  Joined& b = join({.member_id = new_id()});
  std::string id = groups().find("g")->members().rbegin()->first;
  for (const auto& [member_id, member] : groups().find("g")->members())
    if (member->awaiting_join()) id = member_id;
  EXPECT_EQ(leave(id), ErrorCode::kNone);
  EXPECT_TRUE(b.answered);
  EXPECT_EQ(b.error, ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, UnloadingAnswersEverybody) {
  Joined& a = join_dynamic();
  Joined& b = join_dynamic();
  pass_ms(6'001);
  std::string follower = a.leader == a.member_id ? b.member_id : a.member_id;
  Synced& synced = sync(follower, 1);
  Joined& other = join_dynamic({.group = "h"});
  runtime->unload(ErrorCode::kNotCoordinator);
  EXPECT_EQ(synced.error, ErrorCode::kNotCoordinator);
  EXPECT_TRUE(other.answered);
  EXPECT_EQ(other.error, ErrorCode::kNotCoordinator);
}

// What the log holds last is what the members have.
TEST_F(GroupTest, AnAssignmentThatIsBeingStoredStands) {
  Joined& a = join_dynamic();
  pass_ms(3'001);
  sync(a.member_id, 1, {{a.member_id, "first"}});
  end_turn();
  Synced& again = sync(a.member_id, 1, {{a.member_id, "second"}});
  commit();
  EXPECT_EQ(again.assignment, "first");
  start();
  EXPECT_EQ(sync(a.member_id, 1).assignment, "first");
}

}  // namespace
}  // namespace pelton::broker::group
