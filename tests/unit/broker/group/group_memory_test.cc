#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

// A limit of 64 KiB, which ends the tests' groups soon.
class MemoryTest : public GroupTest, public MemoryGauge::Relief {
 protected:
  void memory_is_short() override { ++short_; }
  void SetUp() override {
    small.emplace(64 * 1024, this);
    GroupTest::SetUp();
  }
  void TearDown() override { GroupTest::TearDown(); }
  std::unique_ptr<coordinator::StateMachine> make(coordinator::RecordWriter& writer) override {
    auto machine = std::make_unique<GroupCoordinator>(config, environment, writer, *small, *this);
    coordinator = machine.get();
    return machine;
  }
  ErrorCode commit_offset(std::string_view group, int32_t partition, std::string_view metadata = "") {
    int16_t partition_error = -1;
    OffsetCommitPartition one{.topic = "t",
                              .partition = partition,
                              .offset = 7,
                              .metadata = metadata,
                              .error_code = &partition_error};
    OffsetCommit commit_of{.version = 9, .group_id = group, .partitions = {&one, 1}};
    Done done;
    ErrorCode error = coordinator->commit_offsets(commit_of, done);
    commit();
    return error;
  }

  std::optional<MemoryGauge> small;
  int short_ = 0;
};

TEST_F(MemoryTest, EverythingThatGoesIsTakenOff) {
  std::string a = stable_group();
  Joined& b = join_dynamic({.instance_id = std::nullopt});
  EXPECT_FALSE(b.answered);
  join({.instance_id = "one"});
  EXPECT_EQ(commit_offset("other", 1, "metadata"), ErrorCode::kNone);
  EXPECT_EQ(commit_offset("other", 1, "other"), ErrorCode::kNone);
  EXPECT_GT(small->used(), 1'000u);
  runtime->unload(ErrorCode::kNotCoordinator);
  EXPECT_EQ(small->used(), 0u);
}

TEST_F(MemoryTest, MembersAndOffsetsPastTheLimitAreTurnedAway) {
  std::string a = stable_group();
  ASSERT_EQ(commit_offset("g2", 0, "first"), ErrorCode::kNone);
  int groups_made = 0;
  ErrorCode error = ErrorCode::kMemberIdRequired;
  for (; error == ErrorCode::kMemberIdRequired; ++groups_made) {
    ASSERT_LT(groups_made, 1'000);
    error = join({.group = "n" + std::to_string(groups_made)}).error;
  }
  EXPECT_EQ(error, ErrorCode::kCoordinatorLoadInProgress);
  EXPECT_EQ(short_, 1);
  EXPECT_LE(small->used(), small->limit());
  EXPECT_EQ(groups().find("n" + std::to_string(groups_made - 1)), nullptr);
  int32_t partition = 1;
  while (commit_offset("g2", partition, std::string(1'000, 'm')) == ErrorCode::kNone)
    ASSERT_LT(++partition, 1'000);
  // What is there goes on.
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kNone);
  EXPECT_EQ(commit_offset("g2", 0, "again"), ErrorCode::kNone);
  Joined& rejoined = join({.member_id = a});
  EXPECT_EQ(rejoined.error, ErrorCode::kNone);
  EXPECT_EQ(rejoined.generation, 2);
  EXPECT_EQ(join({.member_id = a, .protocols = {{"range", std::string(65'536, 'x')}}}).error,
            ErrorCode::kCoordinatorLoadInProgress);
}

TEST_F(MemoryTest, ReliefTakesGroupsThatNobodyUses) {
  for (int i = 0; i < 30; ++i) new_id({.group = "n" + std::to_string(i)});
  ASSERT_EQ(commit_offset("kept", 0), ErrorCode::kNone);
  std::string a = stable_group();
  coordinator->relieve();
  pass_ms(3);
  commit();
  EXPECT_EQ(groups().size(), 2u);
  EXPECT_NE(groups().find("kept"), nullptr);
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kNone);
}

TEST_F(MemoryTest, AGroupThatNobodyJoinedGoesWithTheLastIdItGaveOut) {
  new_id({.session_ms = 10'000});
  pass_ms(5'000);
  std::string second = new_id({.session_ms = 10'000});
  pass_ms(6'000);
  EXPECT_NE(groups().find("g"), nullptr);
  pass_ms(5'000);
  EXPECT_EQ(groups().find("g"), nullptr);
  EXPECT_EQ(join({.member_id = second}).error, ErrorCode::kUnknownMemberId);
  commit();
  EXPECT_EQ(small->used(), 0u);
  start();
  EXPECT_EQ(groups().find("g"), nullptr);
}

TEST_F(MemoryTest, AGroupWithOffsetsOutlivesTheIdsItGaveOut) {
  ASSERT_EQ(commit_offset("g", 0), ErrorCode::kNone);
  new_id({.session_ms = 10'000});
  pass_ms(11'000);
  EXPECT_NE(groups().find("g"), nullptr);
}

TEST_F(MemoryTest, ACommitThatNoBatchHoldsIsRefusedBeforeItIsBuilt) {
  log->max_batch = 1'000;
  std::vector<OffsetCommitPartition> many(100'000);
  std::vector<int16_t> errors(many.size(), -1);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = {.topic = "t", .offset = 1, .error_code = &errors[i]};
  small.emplace(size_t{1} << 30);
  start();
  log->max_batch = 1'000;
  OffsetCommit commit_of{.version = 9, .group_id = "g", .partitions = many};
  Done done;
  EXPECT_EQ(coordinator->commit_offsets(commit_of, done), ErrorCode::kUnknownServerError);
  EXPECT_EQ(errors.back(), -1);
}

}  // namespace
}  // namespace pelton::broker::group
