#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

class DeletionTest : public GroupTest {
 protected:
  struct Commit {
    std::string group = "g";
    std::string topic = "t";
    int32_t partition = 0;
    int32_t generation = -1;
    std::string member_id;
    Uuid topic_id;
  };
  void commit_offset(const Commit& args) {
    int16_t partition_error = -1;
    OffsetCommitPartition partition{.topic = args.topic,
                                    .topic_id = args.topic_id,
                                    .partition = args.partition,
                                    .offset = 7,
                                    .error_code = &partition_error};
    OffsetCommit commit_of{.version = 9,
                           .group_id = args.group,
                           .generation = args.generation,
                           .member_id = args.member_id,
                           .partitions = {&partition, 1}};
    Done done;
    ASSERT_EQ(coordinator->commit_offsets(commit_of, done), ErrorCode::kNone);
    commit();
    ASSERT_EQ(done.result, ErrorCode::kNone);
    ASSERT_EQ(partition_error, 0);
  }
  bool has_offset(std::string_view topic = "t", int32_t partition = 0, std::string_view group = "g") {
    return coordinator->offsets().find(group, topic, partition) != nullptr;
  }
  // The error of the whole, or that of the only partition.
  ErrorCode delete_offset(std::string_view topic = "t", int32_t partition = 0) {
    int16_t partition_error = -1;
    OffsetDeletePartition one{.topic = topic, .partition = partition, .error_code = &partition_error};
    ErrorCode error = coordinator->delete_offsets("g", {&one, 1});
    if (error != ErrorCode::kNone) return error;
    commit();
    return static_cast<ErrorCode>(partition_error);
  }
};

TEST_F(DeletionTest, AnEmptyGroupGoesWithItsOffsets) {
  std::string a = stable_group();
  commit_offset({.generation = 1, .member_id = a});
  EXPECT_EQ(coordinator->delete_group("g"), ErrorCode::kNonEmptyGroup);
  EXPECT_TRUE(has_offset());
  leave(a);
  commit();
  EXPECT_EQ(coordinator->delete_group("g"), ErrorCode::kNone);
  EXPECT_EQ(groups().find("g"), nullptr);
  EXPECT_FALSE(has_offset());
  EXPECT_EQ(coordinator->delete_group("g"), ErrorCode::kGroupIdNotFound);
  commit();
  start();
  EXPECT_EQ(groups().find("g"), nullptr);
  EXPECT_FALSE(has_offset());
}

TEST_F(DeletionTest, WhoeverAnswersADeletionHearsOfItsCommit) {
  commit_offset({});
  ASSERT_EQ(coordinator->delete_group("g"), ErrorCode::kNone);
  Done done;
  runtime->after_pending(done);
  end_turn();
  EXPECT_FALSE(done.result);
  log->fail(ErrorCode::kKafkaStorageError);
  EXPECT_EQ(done.result, ErrorCode::kNotCoordinator);
  load();
  EXPECT_TRUE(has_offset()) << "what was not stored did not happen";
}

TEST_F(DeletionTest, TombstonesThatNoBatchHoldsAreLeftOut) {
  std::string longest(30'000, 'g');
  commit_offset({.group = longest});
  commit_offset({.group = "g"});
  log->max_batch = 10'000;
  EXPECT_EQ(coordinator->delete_group(longest), ErrorCode::kUnknownServerError);
  topics.erase("t");
  coordinator->topics_deleted();
  pass_ms(2);
  commit();
  EXPECT_FALSE(reload_wanted);
  EXPECT_TRUE(has_offset("t", 0, longest));
  EXPECT_FALSE(has_offset("t", 0, "g"));
}

TEST_F(DeletionTest, ASimpleGroupCanBeDeleted) {
  commit_offset({.partition = 0});
  commit_offset({.topic = "u", .partition = 5});
  EXPECT_EQ(coordinator->delete_group("g"), ErrorCode::kNone);
  EXPECT_FALSE(has_offset());
  EXPECT_FALSE(has_offset("u", 5));
  EXPECT_EQ(memory.used(), 0u);
}

TEST_F(DeletionTest, AMemberThatWasToJoinADeletedGroupIsUnknown) {
  std::string id = new_id();
  EXPECT_EQ(coordinator->delete_group("g"), ErrorCode::kNone);
  EXPECT_EQ(join({.member_id = id}).error, ErrorCode::kUnknownMemberId);
}

// The first group's assignment must not become that of its successor, which is at the same generation.
TEST_F(DeletionTest, AnAssignmentOfADeletedGroupIsNotItsSuccessors) {
  config.initial_rebalance_delay_ms = 0;
  Joined& old = join_dynamic();
  pass_ms(2);
  sync(old.member_id, 1, {{old.member_id, "old"}});
  end_turn();
  leave(old.member_id);
  ASSERT_EQ(coordinator->delete_group("g"), ErrorCode::kNone);
  Joined& next = join_dynamic();
  pass_ms(2);
  ASSERT_EQ(next.generation, 1);
  log->commit();
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
  Synced& synced = sync(next.member_id, 1, {{next.member_id, "new"}});
  commit();
  EXPECT_EQ(synced.assignment, "new");
}

TEST_F(DeletionTest, OffsetsOfAnEmptyGroupCanBeDeleted) {
  commit_offset({.partition = 0});
  commit_offset({.partition = 1});
  EXPECT_EQ(delete_offset("t", 0), ErrorCode::kNone);
  EXPECT_EQ(delete_offset("t", 9), ErrorCode::kNone) << "there is none to delete";
  EXPECT_FALSE(has_offset("t", 0));
  EXPECT_TRUE(has_offset("t", 1));
  start();
  EXPECT_FALSE(has_offset("t", 0));
  EXPECT_TRUE(has_offset("t", 1));
}

TEST_F(DeletionTest, OffsetsOfSubscribedTopicsStay) {
  // A subscription of version 0 to "t".
  std::string subscribed("\0\0\0\0\0\1\0\1t\0\0\0\0", 13);
  std::string a = stable_group({.protocols = {{"range", subscribed}}});
  commit_offset({.generation = 1, .member_id = a});
  commit_offset({.topic = "u", .generation = 1, .member_id = a});
  EXPECT_EQ(delete_offset("t"), ErrorCode::kGroupSubscribedToTopic);
  EXPECT_EQ(delete_offset("u"), ErrorCode::kNone);
  EXPECT_TRUE(has_offset("t"));
  EXPECT_FALSE(has_offset("u"));
}

TEST_F(DeletionTest, AGroupOfAnotherProtocolMustBeEmpty) {
  EXPECT_EQ(delete_offset(), ErrorCode::kGroupIdNotFound);
  std::string a = stable_group({.type = "connect"});
  commit_offset({.generation = 1, .member_id = a});
  EXPECT_EQ(delete_offset(), ErrorCode::kNonEmptyGroup);
  leave(a);
  EXPECT_EQ(delete_offset(), ErrorCode::kNone);
  EXPECT_FALSE(has_offset());
}

TEST_F(DeletionTest, OffsetsOfATopicThatWasMadeAgainGo) {
  Uuid first{{1}}, second{{2}};
  topics["t"] = first;
  commit_offset({.partition = 0, .topic_id = first});
  commit_offset({.partition = 1});  // by name
  topics["t"] = second;
  commit_offset({.partition = 2, .topic_id = second});
  coordinator->topics_deleted();
  pass_ms(2);
  commit();
  EXPECT_FALSE(has_offset("t", 0));
  EXPECT_TRUE(has_offset("t", 1)) << "whose it is is not known";
  EXPECT_TRUE(has_offset("t", 2));
}

TEST_F(DeletionTest, OffsetsOfTopicsDeletedWhileNobodyLookedGoWithTheLoading) {
  commit_offset({.topic = "t"});
  commit_offset({.topic = "u"});
  topics.erase("t");
  start();
  pass_ms(2);
  commit();
  EXPECT_FALSE(has_offset("t"));
  EXPECT_TRUE(has_offset("u"));
}

TEST_F(DeletionTest, ASweepTakesSomeGroupsInATurn) {
  constexpr int kGroups = 3 * static_cast<int>(GroupCoordinator::kGroupsPerSlice) + 10;
  for (int i = 0; i < kGroups; ++i) commit_offset({.group = std::to_string(i)});
  topics.erase("t");
  coordinator->topics_deleted();
  size_t left = coordinator->offsets().all().size();
  int turns = 0;
  for (; !coordinator->offsets().all().empty(); ++turns) {
    pass_ms(1);
    size_t now = coordinator->offsets().all().size();
    EXPECT_LE(left - now, GroupCoordinator::kGroupsPerSlice);
    left = now;
    ASSERT_LT(turns, 100);
  }
  EXPECT_GE(turns, 4);
}

}  // namespace
}  // namespace pelton::broker::group
