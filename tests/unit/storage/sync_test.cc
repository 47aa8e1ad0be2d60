// What counts as synced, and when.
#include <gtest/gtest.h>

#include "storage/shard_storage.h"
#include "storage/sync_queue.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using test::Harness;
using test::Observer;

// Syncs end when the test says so. The names of the log are on disk.
struct ManualHarness : Harness {
  explicit ManualHarness(LogConfig config_ = {}) : Harness(config_) {
    log->request_sync();
    settle();
    observer.synced = 0;
    storage->counters = {};
    io.auto_complete = false;
  }
  ~ManualHarness() {
    io.auto_complete = true;
    settle();
  }
};

TEST(Sync, CoversOnlyWhatWasWrittenWhenItStarted) {
  ManualHarness h;
  h.append({});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_FALSE(h.io.started[0].file_system);
  h.append({});
  h.turn();
  EXPECT_EQ(h.io.started.size(), 1u) << "one in flight for a file";
  EXPECT_EQ(h.log->synced_end().offset, 0);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 1);
  EXPECT_EQ(h.observer.synced, 1);
  ASSERT_EQ(h.io.started.size(), 1u) << "the next one begins by itself";
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 2);
  EXPECT_TRUE(h.io.started.empty());
}

TEST(Sync, TheFirstOneOfANewLogBringsItsNamesToDiskToo) {
  for (int64_t flush_messages : {int64_t{1}, kFlushNever}) {
    LogConfig config;
    config.flush_messages = flush_messages;
    Harness h(config);
    h.io.auto_complete = false;
    EXPECT_TRUE(h.io.started.empty()) << "a creation does not wait for the disk";
    h.append({});
    h.turn();
    if (flush_messages != 1) h.log->request_sync();
    ASSERT_EQ(h.io.started.size(), 1u);
    EXPECT_TRUE(h.io.started[0].file_system);
    h.io.end(0);
    h.turn();
    EXPECT_EQ(h.log->synced_end().offset, 1);
    h.append({});
    h.turn();
    if (flush_messages != 1) h.log->request_sync();
    ASSERT_EQ(h.io.started.size(), 1u);
    EXPECT_FALSE(h.io.started[0].file_system);
    h.io.auto_complete = true;
    h.settle();
  }
}

TEST(Sync, WhoWaitsForTheFileSystemIsToldByASyncThatBeganAfter) {
  ManualHarness h;
  struct Waiter : FileSystemWaiter {
    Waiter() {
      owner = this;
      done = [](void* self, int32_t got) { static_cast<Waiter*>(self)->results.push_back(got); };
    }
    std::vector<int32_t> results;
  };
  Waiter first, second;
  DirectorySync& directory = **h.storage->syncs->directory(h.dir / "data");
  h.storage->syncs->want(directory, first);
  h.storage->syncs->start();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_TRUE(h.io.started[0].file_system);
  h.storage->syncs->want(directory, second);
  {
    Waiter leaves;
    h.storage->syncs->want(directory, leaves);
  }
  h.storage->syncs->start();
  EXPECT_EQ(h.io.started.size(), 1u) << "one at a time";
  h.io.end(0);
  h.turn();
  EXPECT_EQ(first.results, std::vector<int32_t>{0});
  EXPECT_TRUE(second.results.empty());
  ASSERT_EQ(h.io.started.size(), 1u);
  h.io.end(-EIO);
  h.turn();
  EXPECT_EQ(second.results, std::vector<int32_t>{-EIO});
  EXPECT_TRUE(h.io.started.empty());
  Waiter late;
  h.storage->syncs->want(directory, late);
  h.storage->syncs->start();
  EXPECT_EQ(late.results, std::vector<int32_t>{-EIO}) << "another one would say that all is well";
  EXPECT_TRUE(h.io.started.empty());
}

TEST(Sync, AfterAFailureOfTheFileSystemOnlyFilesOfTheirOwnAreSynced) {
  ManualHarness h;
  Observer first_observer, second_observer;
  auto first = h.log_dir->create_log(*h.storage, first_observer, {"first", 0}, h.topic_id, h.config);
  auto second = h.log_dir->create_log(*h.storage, second_observer, {"second", 0}, h.topic_id, h.config);
  ASSERT_TRUE(first && second);
  auto append = [&](Log& log) {
    h.batches.push_back(test::make_batch({}));
    return log.append(h.batches.back(), 0, AppendOrigin::kClient, 0).error;
  };
  append(**first);
  h.turn();
  append(**second);
  h.turn();
  h.io.end(-EIO);
  h.turn();
  EXPECT_EQ(first_observer.failures, 1);
  // What was lost may be the second one's: its names, or records.
  EXPECT_EQ(second_observer.failures, 1);
  EXPECT_EQ(append(**second), proto::ErrorCode::kKafkaStorageError);
  // A log whose names are on disk is told by the kernel if it lost anything.
  h.append({});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_FALSE(h.io.started[0].file_system);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 1);
}

TEST(Sync, AFailureIsFinal) {
  ManualHarness h;
  h.append({});
  h.turn();
  h.append({});
  h.turn();
  h.io.end(-EIO);
  h.turn();
  EXPECT_EQ(h.observer.failures, 1);
  EXPECT_EQ(h.observer.last_error.code, EIO);
  EXPECT_EQ(h.log->synced_end().offset, 0);
  EXPECT_TRUE(h.io.started.empty()) << "never retried";
  EXPECT_EQ(h.append({}).error, proto::ErrorCode::kKafkaStorageError);
}

TEST(Sync, ARollWaitsForOldSegmentAndNewName) {
  LogConfig config;
  config.segment_bytes = 400;
  ManualHarness h(config);
  h.append({.value_bytes = 150});
  h.turn();
  h.append({.value_bytes = 150});
  h.turn();
  // The first sync covers the first batch only.
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 1);
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_TRUE(h.io.started[0].file_system);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 2);
  h.append({.value_bytes = 20});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_FALSE(h.io.started[0].file_system) << "the name is on disk now";
}

TEST(Sync, UnsyncedTopicsSyncAtTheRollOnly) {
  LogConfig config;
  config.segment_bytes = 300;
  config.flush_messages = kFlushNever;
  ManualHarness h(config);
  h.append({.value_bytes = 150});
  h.turn();
  EXPECT_TRUE(h.io.started.empty());
  h.append({.value_bytes = 150});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_FALSE(h.io.started[0].file_system);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 1) << "the segment that was rolled";
  EXPECT_TRUE(h.io.started.empty());
  h.log->request_sync();
  ASSERT_EQ(h.io.started.size(), 1u);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 2);
}

TEST(Sync, AfterSoManyRecordsOrSoLong) {
  LogConfig config;
  config.flush_messages = 5;
  config.flush_ms = 1000;
  ManualHarness h(config);
  h.append({.records = 4});
  h.turn();
  EXPECT_TRUE(h.io.started.empty());
  h.append({.records = 1});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 5);
  h.append({.records = 1});
  h.turn();
  EXPECT_TRUE(h.io.started.empty());
  h.io.time_ns += 1'100'000'000;
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u) << "flush.ms";
}

TEST(Sync, ANewConfigurationCountsForWhatLiesUnsynced) {
  LogConfig config;
  config.flush_messages = kFlushNever;
  ManualHarness h(config);
  h.append({.records = 4});
  h.turn();
  EXPECT_TRUE(h.io.started.empty());
  config.flush_ms = 1000;
  h.log->set_config(config);
  h.turn();
  EXPECT_TRUE(h.io.started.empty());
  config.flush_ms = 500;
  h.log->set_config(config);
  h.turn();
  h.io.time_ns += 600'000'000;
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u) << "the shorter time";
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 4);
  h.append({.records = 1});
  h.turn();
  config.flush_messages = 1;
  h.log->set_config(config);
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u) << "every record is synced from now on";
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.log->synced_end().offset, 5);
}

TEST(Sync, ManyDirtyLogsShareOneSyncOfTheFileSystem) {
  constexpr int kLogs = 12;
  ManualHarness h;
  std::vector<std::unique_ptr<Observer>> observers;
  std::vector<std::unique_ptr<Log>> logs;
  std::vector<std::vector<uint8_t>> batches;
  for (int i = 0; i < kLogs; ++i) {
    observers.push_back(std::make_unique<Observer>());
    auto log = h.log_dir->create_log(*h.storage, *observers.back(), {"many", i}, h.topic_id, h.config);
    ASSERT_TRUE(log.has_value());
    logs.push_back(std::move(*log));
  }
  auto append_all = [&] {
    for (auto& log : logs) {
      batches.push_back(test::make_batch({}));
      log->append(batches.back(), 0, AppendOrigin::kClient, 0);
    }
    h.turn();
  };
  append_all();
  ASSERT_EQ(h.io.started.size(), 1u);
  EXPECT_TRUE(h.io.started[0].file_system);
  append_all();
  EXPECT_EQ(h.io.started.size(), 1u);
  // One log goes while the sync that covers it is in flight.
  logs.pop_back();
  h.io.end(0);
  h.turn();
  for (auto& log : logs) EXPECT_EQ(log->synced_end().offset, 1);
  EXPECT_EQ(observers.back()->synced, 0);
  ASSERT_EQ(h.io.started.size(), 1u) << "the next one for what came meanwhile";
  h.io.end(0);
  h.turn();
  for (auto& log : logs) EXPECT_EQ(log->synced_end().offset, 2);
  EXPECT_EQ(counters(*h.storage).file_system_syncs, 2u);
  EXPECT_EQ(counters(*h.storage).syncs, 0u);
  // A failed one fails all it covered.
  append_all();
  h.io.end(-EIO);
  h.turn();
  for (size_t i = 0; i < logs.size(); ++i) EXPECT_EQ(observers[i]->failures, 1);
}

TEST(Sync, ALogMayGoWhileItsSyncIsInFlight) {
  ManualHarness h;
  h.append({});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  h.log.reset();
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.observer.synced, 0);
}

TEST(Sync, CloseLeavesTheFileToASyncInFlight) {
  ManualHarness h;
  h.append({});
  h.turn();
  ASSERT_EQ(h.io.started.size(), 1u);
  int open = h.io.fs.open_files;
  ASSERT_TRUE(h.log->close().has_value());
  EXPECT_EQ(h.io.fs.open_files, open);
  h.log.reset();
  EXPECT_EQ(h.io.fs.open_files, open);
  h.io.end(0);
  h.turn();
  EXPECT_EQ(h.observer.synced, 0);
}

TEST(Sync, CloseSyncsAndTellsNobody) {
  ManualHarness h;
  h.append({});
  int before = h.io.fs.syncs;
  ASSERT_TRUE(h.log->close().has_value());
  EXPECT_GT(h.io.fs.syncs, before);
  EXPECT_EQ(h.log->synced_end().offset, 1);
  EXPECT_EQ(h.append({}).error, proto::ErrorCode::kKafkaStorageError);
  EXPECT_EQ(std::filesystem::file_size(h.partition("00000000000000000000.log")),
            test::make_batch({}).size());
}

// What recovery does not look at again has to be on disk, the transaction index too.
TEST(Sync, TheRecoveryPointWaitsForARolledTransactionIndex) {
  for (int64_t flush_messages : {int64_t{1}, kFlushNever}) {
    LogConfig config;
    config.segment_bytes = 500;
    config.flush_messages = flush_messages;
    ManualHarness h(config);
    auto end_syncs = [&] {
      for (int i = 0; i < 4; ++i) {
        while (!h.io.started.empty()) h.io.end(0);
        h.turn();
      }
    };
    h.append({.value_bytes = 100, .producer_id = 5, .producer_epoch = 0, .sequence = 0, .transactional = true});
    h.append_bytes(test::make_marker(5, 0, proto::ControlType::kAbort, 1), 0, AppendOrigin::kCoordinator);
    h.turn();
    end_syncs();
    int64_t synced = flush_messages == 1 ? 2 : 0;
    EXPECT_EQ(h.log->recovery_point(), synced) << "the active segment is looked at in any case";
    h.append({.value_bytes = 300});
    h.turn();
    ASSERT_TRUE(std::filesystem::exists(h.partition("00000000000000000002.log")));
    EXPECT_EQ(h.log->recovery_point(), 0);
    ASSERT_FALSE(h.io.started.empty());
    EXPECT_TRUE(h.io.started[0].file_system);
    end_syncs();
    EXPECT_GE(h.log->recovery_point(), 2);
    // Without aborted transactions there is nothing to wait for.
    h.append({.value_bytes = 300});
    h.turn();
    EXPECT_GE(h.log->recovery_point(), 2);
  }
}

}  // namespace
}  // namespace pelton::storage
