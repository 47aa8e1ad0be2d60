#include "tests/unit/broker/group/group_fixture.h"

namespace pelton::broker::group {
namespace {

class OffsetsTest : public GroupTest {
 protected:
  struct Commit {
    std::string group = "g";
    int32_t generation = -1;
    std::string member_id;
    std::optional<std::string> instance_id;
    int64_t retention_ms = -1;
    int16_t version = 10;
    std::string topic = "t";
    int32_t partition = 0;
    int64_t offset = 7;
    std::string metadata;
  };
  ErrorCode commit_offset(const Commit& args, Done& done) {
    OffsetCommitPartition partition{.topic = args.topic,
                                    .topic_id = {},
                                    .partition = args.partition,
                                    .offset = args.offset,
                                    .leader_epoch = 3,
                                    .metadata = args.metadata,
                                    .error_code = &partition_error};
    OffsetCommit commit{.version = args.version,
                        .group_id = args.group,
                        .generation = args.generation,
                        .member_id = args.member_id,
                        .instance_id = args.instance_id,
                        .retention_ms = args.retention_ms,
                        .partitions = {&partition, 1}};
    return coordinator->commit_offsets(commit, done);
  }
  ErrorCode commit_and_store(const Commit& args) {
    Done done;
    ErrorCode error = commit_offset(args, done);
    commit();
    if (error == ErrorCode::kNone) {
      EXPECT_EQ(done.result, ErrorCode::kNone);
    }
    return error;
  }
  std::optional<int64_t> offset(int32_t partition = 0, std::string_view topic = "t") {
    const CommittedOffset* found = coordinator->offsets().find("g", topic, partition);
    return found == nullptr ? std::nullopt : std::optional(found->offset);
  }
  void expire() {
    coordinator->expire_offsets();
    pass_ms(3);
  }
  int16_t partition_error = -1;
};

TEST_F(OffsetsTest, AnswerIsHeldUntilTheOffsetIsCommitted) {
  Done done;
  EXPECT_EQ(commit_offset({}, done), ErrorCode::kNone);
  EXPECT_FALSE(done.result);
  end_turn();
  EXPECT_FALSE(done.result);
  log->commit();
  EXPECT_EQ(done.result, ErrorCode::kNone);
  EXPECT_EQ(partition_error, 0);
  EXPECT_EQ(offset(), 7);
  EXPECT_EQ(state(), GroupState::kEmpty);  // a simple group
  EXPECT_FALSE(groups().find("g")->protocol_type());
}

TEST_F(OffsetsTest, WhatIsReadWaitsForWhatIsPending) {
  Done committed, read, later;
  commit_offset({}, committed);
  runtime->after_pending(read);
  end_turn();
  runtime->after_pending(later);
  EXPECT_FALSE(read.result);
  EXPECT_FALSE(later.result);
  log->commit();
  EXPECT_EQ(read.result, ErrorCode::kNone);
  EXPECT_EQ(later.result, ErrorCode::kNone);
  Done at_once;
  runtime->after_pending(at_once);
  EXPECT_EQ(at_once.result, ErrorCode::kNone);
}

TEST_F(OffsetsTest, EventsOfATurnShareABatch) {
  Done a, b;
  commit_offset({.partition = 0}, a);
  commit_offset({.partition = 1, .offset = 8}, b);
  EXPECT_EQ(log->uncommitted(), 0u);
  end_turn();
  EXPECT_EQ(log->uncommitted(), 1u);
  log->commit();
  EXPECT_EQ(a.result, ErrorCode::kNone);
  EXPECT_EQ(b.result, ErrorCode::kNone);
  EXPECT_EQ(disk.next_offset, 2);
}

TEST_F(OffsetsTest, OffsetsAndGroupsSurviveARestart) {
  std::string a = stable_group({.protocols = {{"range", "sub"}}});
  commit_and_store({.generation = 1, .member_id = a, .offset = 41, .metadata = "note"});
  commit_and_store({.generation = 1, .member_id = a, .topic = "u", .partition = 2, .offset = 5});
  start();
  const CommittedOffset* found = coordinator->offsets().find("g", "t", 0);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->offset, 41);
  EXPECT_EQ(found->metadata, "note");
  EXPECT_EQ(found->leader_epoch, 3);
  EXPECT_EQ(offset(2, "u"), 5);
  ClassicGroup* group = groups().find("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->state(), GroupState::kStable);
  EXPECT_EQ(group->generation(), 1);
  EXPECT_EQ(group->leader(), a);
  EXPECT_EQ(group->protocol_type(), "consumer");
  EXPECT_EQ(group->protocol_name(), "range");
  ASSERT_NE(group->member(a), nullptr);
  EXPECT_EQ(as_text(group->member(a)->metadata("range")), "sub");
  EXPECT_EQ(as_text(group->member(a)->assignment), "a1");
  EXPECT_EQ(group->member(a)->client_host, "/127.0.0.1");
  EXPECT_EQ(group->member(a)->session_timeout_ms, 10'000);
  EXPECT_EQ(group->member(a)->rebalance_timeout_ms, 60'000);
  // Sessions begin anew.
  pass_ms(9'000);
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kNone);
  pass_ms(10'001);
  EXPECT_EQ(state(), GroupState::kEmpty);
}

TEST_F(OffsetsTest, UncommittedOffsetsAreGoneAfterARestart) {
  commit_and_store({.offset = 1});
  Done done;
  commit_offset({.offset = 2}, done);
  end_turn();
  EXPECT_EQ(offset(), 2);
  start();
  EXPECT_EQ(done.result, ErrorCode::kNotCoordinator);
  EXPECT_EQ(offset(), 1);
}

TEST_F(OffsetsTest, FailedWriteTakesTheStateBack) {
  std::string a = stable_group();
  commit_and_store({.generation = 1, .member_id = a, .offset = 1});
  Done done, read;
  commit_offset({.generation = 1, .member_id = a, .offset = 2}, done);
  end_turn();
  runtime->after_pending(read);
  Joined& waiting = join_dynamic();
  log->fail(ErrorCode::kKafkaStorageError);
  EXPECT_EQ(done.result, ErrorCode::kNotCoordinator);
  EXPECT_EQ(read.result, ErrorCode::kNotCoordinator);
  EXPECT_EQ(waiting.error, ErrorCode::kNotCoordinator);
  EXPECT_EQ(runtime->error(), ErrorCode::kCoordinatorLoadInProgress);
  ASSERT_TRUE(reload_wanted);
  load();
  EXPECT_EQ(runtime->error(), ErrorCode::kNone);
  EXPECT_EQ(offset(), 1);
  EXPECT_EQ(state(), GroupState::kStable);
}

TEST_F(OffsetsTest, AppendThatIsRefusedTakesTheStateBack) {
  commit_and_store({.offset = 1});
  log->next_append = ErrorCode::kNotLeaderOrFollower;
  Done done;
  commit_offset({.offset = 2}, done);
  EXPECT_FALSE(done.result);
  end_turn();
  EXPECT_EQ(done.result, ErrorCode::kNotCoordinator);
  ASSERT_TRUE(reload_wanted);
  load();
  EXPECT_EQ(offset(), 1);
}

TEST_F(OffsetsTest, ReloadWaitsForWritesThatAreStillOut) {
  Done a, b;
  commit_offset({.offset = 1}, a);
  end_turn();
  log->next_append = ErrorCode::kKafkaStorageError;
  commit_offset({.offset = 2}, b);
  end_turn();
  EXPECT_EQ(a.result, ErrorCode::kNotCoordinator);
  EXPECT_EQ(b.result, ErrorCode::kNotCoordinator);
  EXPECT_FALSE(reload_wanted);
  log->commit();
  EXPECT_TRUE(reload_wanted);
  load();
  EXPECT_EQ(offset(), 1);
}

TEST_F(OffsetsTest, LogThatCannotBeReadFailsTheCoordinator) {
  commit_and_store({});
  runtime->unload(ErrorCode::kNotCoordinator);
  log->fail_reads = true;
  load();
  EXPECT_EQ(runtime->state(), CoordinatorPartition::State::kFailed);
  EXPECT_EQ(runtime->error(), ErrorCode::kNotCoordinator);
  EXPECT_NE(runtime->failure().find("reading at offset 0"), std::string::npos);
}

TEST_F(OffsetsTest, DamagedRecordFailsTheCoordinator) {
  commit_and_store({});
  disk.batches[0][70] ^= 1;
  runtime->unload(ErrorCode::kNotCoordinator);
  load();
  EXPECT_EQ(runtime->state(), CoordinatorPartition::State::kFailed);
}

TEST_F(OffsetsTest, LoadingGoesInSlices) {
  for (int i = 0; i < 10; ++i) commit_and_store({.partition = i});
  runtime->unload(ErrorCode::kNotCoordinator);
  ASSERT_TRUE(runtime->start_loading());
  EXPECT_EQ(runtime->error(), ErrorCode::kCoordinatorLoadInProgress);
  int slices = 1;
  for (size_t budget = 1; !runtime->load_slice(budget); budget = 1) ++slices;
  EXPECT_EQ(slices, 10);
  EXPECT_EQ(offset(9), 7);
}

TEST_F(OffsetsTest, TooManyWaitingEventsAreTurnedAway) {
  std::vector<Done> all(CoordinatorPartition::kMaxPending);
  for (Done& done : all) commit_offset({}, done);
  EXPECT_EQ(runtime->error(), ErrorCode::kCoordinatorLoadInProgress);
  commit();
  EXPECT_EQ(all.back().result, ErrorCode::kNone);
  EXPECT_EQ(runtime->error(), ErrorCode::kNone);
}

TEST_F(OffsetsTest, CommitsAreNotWaitedForForEver) {
  Done early, late, after;
  commit_offset({.partition = 0}, early);
  end_turn();
  pass_ms(3'000);
  commit_offset({.partition = 1}, late);
  end_turn();
  runtime->after_pending(after);
  pass_ms(2'010);
  EXPECT_EQ(early.result, ErrorCode::kCoordinatorNotAvailable);
  EXPECT_FALSE(late.result);
  pass_ms(3'000);
  EXPECT_EQ(late.result, ErrorCode::kCoordinatorNotAvailable);
  EXPECT_EQ(after.result, ErrorCode::kCoordinatorNotAvailable);
  EXPECT_EQ(runtime->error(), ErrorCode::kNone);
  log->commit();  // in the end
  EXPECT_EQ(offset(0), 7);
  start();
  EXPECT_EQ(offset(0), 7);
  EXPECT_EQ(offset(1), 7);
}

TEST_F(OffsetsTest, RecordsAreCompressedAsConfigured) {
  write_options.codec = proto::Codec::kZstd;
  start();
  commit_and_store({.metadata = std::string(4'000, 'm')});
  ASSERT_EQ(disk.batches.size(), 1u);
  EXPECT_EQ(proto::BatchView(disk.batches[0]).codec(), proto::Codec::kZstd);
  EXPECT_LT(disk.batches[0].size(), 1'000u);
  start();
  EXPECT_EQ(coordinator->offsets().find("g", "t", 0)->metadata.size(), 4'000u);
}

TEST_F(OffsetsTest, CommitThatFitsInNoBatchIsRefused) {
  commit_and_store({.offset = 1});
  log->max_batch = 100;
  Done done;
  EXPECT_EQ(commit_offset({.offset = 2, .metadata = std::string(100, 'm')}, done),
            ErrorCode::kUnknownServerError);
  end_turn();
  EXPECT_FALSE(done.result);
  EXPECT_EQ(offset(), 1);
  EXPECT_FALSE(reload_wanted);
}

TEST_F(OffsetsTest, MembershipIsCheckedBeforeACommit) {
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = "x", .version = 9}),
            ErrorCode::kGroupIdNotFound);
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = "x", .version = 8}),
            ErrorCode::kIllegalGeneration);
  std::string a = stable_group();
  EXPECT_EQ(commit_and_store({}),
            ErrorCode::kUnknownMemberId);  // no member, and the group is not empty
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = "x"}), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(commit_and_store({.generation = 2, .member_id = a}), ErrorCode::kIllegalGeneration);
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = a, .instance_id = "i"}),
            ErrorCode::kUnknownMemberId);
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = a}), ErrorCode::kNone);
  join_dynamic();
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = a}),
            ErrorCode::kNone);  // before revoking
  join({.member_id = a});
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
  EXPECT_EQ(commit_and_store({.generation = 2, .member_id = a}), ErrorCode::kRebalanceInProgress);
}

TEST_F(OffsetsTest, FencedStaticMemberCannotCommit) {
  std::string old_id = stable_group({.instance_id = "one"});
  join({.instance_id = "one"});
  commit();
  EXPECT_EQ(commit_and_store({.generation = 1, .member_id = old_id, .instance_id = "one"}),
            ErrorCode::kFencedInstanceId);
}

TEST_F(OffsetsTest, CommitKeepsTheSessionAlive) {
  std::string a = stable_group({.session_ms = 6'000});
  for (int i = 0; i < 3; ++i) {
    pass_ms(5'000);
    ASSERT_EQ(commit_and_store({.generation = 1, .member_id = a}), ErrorCode::kNone);
  }
  EXPECT_EQ(heartbeat(a, 1), ErrorCode::kNone);
}

TEST_F(OffsetsTest, MetadataHasALimitInCharacters) {
  config.offset_metadata_max_bytes = 4;
  EXPECT_EQ(commit_and_store({.metadata = "12345"}), ErrorCode::kNone);
  EXPECT_EQ(partition_error, proto::wire(ErrorCode::kOffsetMetadataTooLarge));
  EXPECT_EQ(offset(), std::nullopt);
  EXPECT_EQ(commit_and_store({.metadata = "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"}), ErrorCode::kNone);
  EXPECT_EQ(partition_error, 0);
  EXPECT_EQ(offset(), 7);
}

TEST_F(OffsetsTest, OffsetsOfASimpleGroupExpireAfterTheirCommit) {
  config.offsets_retention_ms = 60'000;
  config.offsets_retention_check_interval_ms = 10'000;
  start();
  commit_and_store({.partition = 0});
  pass_ms(40'000);
  commit_and_store({.partition = 1});
  pass_ms(30'001);
  commit();
  EXPECT_EQ(offset(0), std::nullopt);
  EXPECT_EQ(offset(1), 7);
  pass_ms(40'000);
  commit();
  EXPECT_EQ(offset(1), std::nullopt);
  EXPECT_EQ(groups().find("g"), nullptr);
  start();
  EXPECT_EQ(groups().find("g"), nullptr);
  EXPECT_EQ(offset(1), std::nullopt);
}

TEST_F(OffsetsTest, OffsetsOfAGroupWithMembersStayUntilItIsEmptyLongEnough) {
  config.offsets_retention_ms = 60'000;
  std::string a = stable_group({.session_ms = 10'000});
  commit_and_store({.generation = 1, .member_id = a});
  for (int i = 0; i < 20; ++i) {
    pass_ms(5'000);
    heartbeat(a, 1);
  }
  expire();
  EXPECT_EQ(offset(), 7);
  leave(a);
  commit();
  pass_ms(58'990);
  expire();
  EXPECT_EQ(offset(), 7);
  pass_ms(1'010);
  expire();
  EXPECT_EQ(offset(), std::nullopt);
  EXPECT_EQ(groups().find("g"), nullptr);
}

TEST_F(OffsetsTest, ExpiryOfOldClientsIsKept) {
  commit_and_store({.retention_ms = 5'000, .version = 4});
  start();
  EXPECT_EQ(offset(), 7);
  pass_ms(4'990);
  expire();
  EXPECT_EQ(offset(), 7);
  pass_ms(10);
  expire();
  EXPECT_EQ(offset(), std::nullopt);
}

TEST_F(OffsetsTest, ARetentionWithoutEndNeverExpires) {
  commit_and_store({.retention_ms = INT64_MAX, .version = 4});
  pass_ms(10'000);
  expire();
  EXPECT_EQ(offset(), 7);
}

TEST_F(OffsetsTest, DeletedTopicsLoseTheirOffsets) {
  commit_and_store({.topic = "t"});
  commit_and_store({.topic = "u"});
  topics.erase("t");
  coordinator->topics_deleted();
  pass_ms(2);
  commit();
  EXPECT_EQ(offset(0, "t"), std::nullopt);
  EXPECT_EQ(offset(0, "u"), 7);
  start();
  EXPECT_EQ(offset(0, "t"), std::nullopt);
  EXPECT_EQ(offset(0, "u"), 7);
}

TEST_F(OffsetsTest, ManyTombstonesAreSpreadOverBatches) {
  for (int i = 0; i < 50; ++i) commit_and_store({.partition = i});
  log->max_batch = 400;
  topics.erase("t");
  coordinator->topics_deleted();
  pass_ms(2);
  EXPECT_GE(log->uncommitted(), 4u);
  log->commit();
  start();
  EXPECT_EQ(coordinator->offsets().find("g"), nullptr);
}

}  // namespace
}  // namespace pelton::broker::group
