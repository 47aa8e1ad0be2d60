#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

TEST_F(GroupTest, StaticMemberJoinsAtOnce) {
  Joined& a = join({.instance_id = "one"});
  EXPECT_FALSE(a.answered);
  pass_ms(3'001);
  ASSERT_TRUE(a.answered);
  EXPECT_TRUE(a.member_id.starts_with("one-"));
  EXPECT_EQ(a.members[0].instance_id, "one");
}

TEST_F(GroupTest, RestartedStaticMemberReplacesItselfWithoutRebalance) {
  std::string old_id = stable_group({.instance_id = "one"});
  Joined& back = join({.instance_id = "one"});
  end_turn();
  EXPECT_FALSE(back.answered) << "the new id is stored first";
  log->commit();
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.error, ErrorCode::kNone);
  EXPECT_EQ(back.generation, 1);
  EXPECT_NE(back.member_id, old_id);
  EXPECT_EQ(back.leader, back.member_id);
  EXPECT_TRUE(back.skip_assignment);
  EXPECT_EQ(back.members.size(), 1u);
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(sync(back.member_id, 1, {}, "one").assignment, "a1");
  // The old id is fenced everywhere.
  EXPECT_EQ(heartbeat(old_id, 1, "one"), ErrorCode::kFencedInstanceId);
  EXPECT_EQ(sync(old_id, 1, {}, "one").error, ErrorCode::kFencedInstanceId);
  EXPECT_EQ(leave(old_id, "one"), ErrorCode::kFencedInstanceId);
  Joined& fenced = join({.member_id = old_id, .instance_id = "one"});
  EXPECT_EQ(fenced.error, ErrorCode::kFencedInstanceId);
  EXPECT_EQ(fenced.protocol, "(null)");
  EXPECT_EQ(heartbeat(back.member_id, 1, "one"), ErrorCode::kNone);
  start();
  EXPECT_EQ(heartbeat(back.member_id, 1, "one"), ErrorCode::kNone);
}

TEST_F(GroupTest, BeforeVersion9TheReplacedLeaderIsNotToldThatItLeads) {
  std::string old_id = stable_group({.instance_id = "one"});
  Joined& back = join({.instance_id = "one", .version = 8});
  commit();
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.leader, old_id);
  EXPECT_FALSE(back.skip_assignment);
  EXPECT_TRUE(back.members.empty());
}

TEST_F(GroupTest, ReplacementThatChangesTheProtocolRebalances) {
  stable_group({.instance_id = "one", .protocols = {{"range", "r"}, {"sticky", "s"}}});
  Joined& back = join({.instance_id = "one", .protocols = {{"sticky", "s"}, {"range", "r"}}});
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.generation, 2);
  EXPECT_EQ(back.protocol, "sticky");
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, ReplacementWhileTheOldOneWaitsFencesIt) {
  Joined& first = join({.instance_id = "one"});
  Joined& second = join({.instance_id = "one"});
  ASSERT_TRUE(first.answered);
  EXPECT_EQ(first.error, ErrorCode::kFencedInstanceId);
  EXPECT_FALSE(second.answered);
  pass_ms(3'001);
  ASSERT_TRUE(second.answered);
  EXPECT_EQ(second.members.size(), 1u);
}

TEST_F(GroupTest, ReplacementWhileCompletingRebalances) {
  Joined& a = join({.instance_id = "one"});
  pass_ms(3'001);
  Synced& waiting = sync(a.member_id, 1, {{a.member_id, "x"}}, "one");
  Joined& back = join({.instance_id = "one"});
  EXPECT_EQ(waiting.error, ErrorCode::kFencedInstanceId);
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.generation, 2);
  commit();
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, ReplacementThatCannotBeStoredIsTakenBack) {
  std::string old_id = stable_group({.instance_id = "one"});
  log->max_batch = 80;
  Joined& back = join({.instance_id = "one"});
  end_turn();
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.error, ErrorCode::kUnknownServerError);
  EXPECT_EQ(heartbeat(old_id, 1, "one"), ErrorCode::kNone);
  EXPECT_EQ(groups().find("g")->awaiting_join(), 0u);
  EXPECT_EQ(groups().find("g")->leader(), old_id);
}

TEST_F(GroupTest, AbsentStaticMemberStaysUntilItsSessionEnds) {
  std::string a =
      stable_group({.instance_id = "one", .session_ms = 50'000, .rebalance_ms = 10'000});
  Joined& b = join_dynamic({.rebalance_ms = 10'000});
  pass_ms(10'001);  // the rebalance goes on without it, and keeps it
  ASSERT_TRUE(b.answered);
  EXPECT_EQ(b.members.size(), 2u);
  EXPECT_EQ(b.leader, b.member_id);
  sync(b.member_id, 2, {{a, "kept"}, {b.member_id, "mine"}});
  commit();
  EXPECT_EQ(heartbeat(a, 2, "one"), ErrorCode::kNone);
  EXPECT_EQ(sync(a, 2, {}, "one").assignment, "kept");
}

// Kafka looks again after each rebalance timeout; with none that would be a loop.
TEST_F(GroupTest, AbsentStaticMembersWithoutARebalanceTimeoutAreWaitedForQuietly) {
  JoinArgs one{.instance_id = "one", .session_ms = 50'000, .rebalance_ms = 0};
  JoinArgs two{.instance_id = "two", .session_ms = 50'000, .rebalance_ms = 0};
  Joined& a = join(one);
  Joined& b = join(two);
  while (!b.answered) pass_ms(1);
  sync(b.member_id, 1, {}, "two");  // at once: the time to do so is zero, too
  sync(a.member_id, 1, {}, "one");
  commit();
  ASSERT_EQ(state(), GroupState::kStable);
  leave(b.member_id, "two");  // and the first one does not join again
  pass_ms(2);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
  EXPECT_GT(environment.timers().next_ns().value(), environment.now_ns() + 100'000'000);
  one.member_id = a.member_id;
  Joined& back = join(one);
  pass_ms(2);
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.generation, 2);
}

TEST_F(GroupTest, TheFirstStaticMemberToComeBackGivesTheOthersTheirTime) {
  std::string a = stable_group({.instance_id = "one", .session_ms = 500'000, .rebalance_ms = 10'000});
  Joined& b = join({.instance_id = "two", .session_ms = 500'000, .rebalance_ms = 10'000});
  pass_ms(10'001);
  ASSERT_TRUE(b.answered);
  Joined& c = join_dynamic({.rebalance_ms = 10'000});
  leave(c.member_id);
  pass_ms(60'000);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance) << "nobody came back";
  Joined& back = join({.member_id = a, .instance_id = "one", .session_ms = 500'000, .rebalance_ms = 10'000});
  pass_ms(9'990);
  EXPECT_FALSE(back.answered);
  pass_ms(20);
  ASSERT_TRUE(back.answered);
  EXPECT_EQ(back.members.size(), 2u);
}

TEST_F(GroupTest, AdministratorRemovesAStaticMemberByItsInstance) {
  stable_group({.instance_id = "one"});
  EXPECT_EQ(leave("", "two"), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(leave("", std::nullopt), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(leave("", "one"), ErrorCode::kNone);
  EXPECT_EQ(state(), GroupState::kEmpty);
}

}  // namespace
}  // namespace pelton::broker::group
