// Opening a log after a clean stop, a crash, damage and loss of files.
#include <gtest/gtest.h>

#include "storage/segment.h"
#include "storage/transaction_index.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

namespace fs = std::filesystem;
using test::BatchSpec;
using test::Harness;
using test::make_batch;
using test::read_all;
using test::write_all;

LogConfig small_segments() {
  LogConfig config;
  config.segment_bytes = 2000;
  config.index_interval_bytes = 200;
  return config;
}

void fill(Harness& h, int batches) {
  for (int i = 0; i < batches; ++i) {
    int64_t offset = h.log->next_offset();
    h.append({.records = 2,
              .value_bytes = 50,
              .timestamp = 1'700'000'000'000 + offset,
              .producer_id = 7,
              .producer_epoch = 0,
              .sequence = static_cast<int32_t>(offset)},
             static_cast<int32_t>(offset / 20));
  }
  h.settle();
}

std::map<std::string, std::string> contents(Harness& h, bool logs_only = false) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::directory_iterator(h.dir / "data/t-0")) {
    std::string name = entry.path().filename();
    if (!logs_only || name.ends_with(".log")) all[name] = read_all(entry.path());
  }
  return all;
}

void expect_whole(Harness& h, int64_t records) {
  ASSERT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), records);
  EXPECT_EQ(h.log->written_end().offset, records);
  EXPECT_EQ(h.log->synced_end().offset, records);
  for (int64_t offset = 0; offset < records; offset += 2) {
    std::string bytes = h.read_bytes(offset, 1);
    ASSERT_GE(bytes.size(), proto::kBatchHeaderSize) << offset;
    EXPECT_EQ(proto::BatchView(as_bytes(bytes)).base_offset(), offset);
    EXPECT_EQ(test::offset_for_timestamp(*h.log, 1'700'000'000'000 + offset, h.log->written_end())->offset, offset);
    EXPECT_EQ(h.log->epoch_of(offset), offset / 20);
  }
}

TEST(Recovery, CleanStopScansNothing) {
  Harness h;
  fill(h, 200);
  h.stop();
  auto before = contents(h);
  h.start();
  EXPECT_TRUE(h.log_dir->clean_start());
  EXPECT_EQ(contents(h), before);
  EXPECT_EQ(h.log->next_offset(), 400);
  // A start costs a bounded number of calls, whatever is in the log.
  h.stop();
  h.io.fs.calls = 0;
  h.start();
  EXPECT_LT(h.io.fs.calls, 60);
  EXPECT_EQ(h.io.fs.open_files, 4) << "the lock, the data directory for the start and for the syncs, and the marks";
  fill(h, 3);
  expect_whole(h, 406);
}

TEST(Recovery, EverythingIsRebuiltFromTheLogsAlone) {
  Harness h(small_segments());
  fill(h, 100);
  h.stop();
  auto clean = contents(h);
  h.start();
  h.crash();
  for (const auto& entry : fs::directory_iterator(h.dir / "data/t-0")) {
    std::string name = entry.path().filename();
    if (!name.ends_with(".log") && name != "partition.metadata") fs::remove(entry.path());
  }
  for (const char* name : {"recovery-point-offset-checkpoint", "replication-offset-checkpoint"}) {
    EXPECT_TRUE(fs::remove(h.dir / (std::string("data/") + name)));
  }
  h.start();
  EXPECT_FALSE(h.log_dir->clean_start());
  expect_whole(h, 200);
  AppendResult again = h.append({.records = 2, .producer_id = 7, .producer_epoch = 0, .sequence = 198});
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.base_offset, 198);
  h.stop();
  EXPECT_EQ(contents(h), clean) << "byte for byte what the clean stop had left";
}

// The end of the last batch is cut off at each of its bytes.
TEST(Recovery, TornTailIsCut) {
  for (size_t lost = 1; lost <= make_batch({.records = 2, .value_bytes = 50, .producer_id = 7}).size(); ++lost) {
    Harness h;
    fill(h, 3);
    h.lose_power();
    std::string file = h.partition("00000000000000000000.log");
    fs::resize_file(file, fs::file_size(file) - lost);
    h.start();
    expect_whole(h, 4);
    AppendResult result =
        h.append({.records = 2, .producer_id = 7, .producer_epoch = 0, .sequence = 4});
    EXPECT_EQ(result.base_offset, 4) << "forgotten with the tail";
    EXPECT_FALSE(result.duplicate);
  }
}

TEST(Recovery, EveryFlippedByteOfTheTailIsFound) {
  size_t size = make_batch({.records = 2, .value_bytes = 50, .producer_id = 7}).size();
  for (size_t at = 0; at < size; ++at) {
    // The leader epoch is outside the CRC, and the offsets' low bits only move the batch forward.
    if (at < 8 || (at >= 12 && at < 16)) continue;
    Harness h;
    fill(h, 3);
    h.lose_power();
    std::string file = h.partition("00000000000000000000.log");
    std::string bytes = read_all(file);
    bytes[2 * size + at] = static_cast<char>(bytes[2 * size + at] ^ 0x11);
    write_all(file, bytes);
    h.start();
    EXPECT_EQ(h.load_error, "");
    EXPECT_EQ(h.log->next_offset(), 4) << at;
    EXPECT_EQ(fs::file_size(file), 2 * size);
  }
}

TEST(Recovery, ZeroTailAndLaterSegmentsAreDropped) {
  Harness h(small_segments());
  fill(h, 60);
  h.lose_power();
  std::vector<std::string> logs;
  for (auto& [name, bytes] : contents(h, true)) logs.push_back(name);
  ASSERT_GE(logs.size(), 4u);
  std::string torn = read_all(h.partition(logs[1]));
  int64_t next_base = std::stoll(logs[2]);
  write_all(h.partition(logs[1]), torn.substr(0, torn.size() - 30) + std::string(30, '\0'));
  h.start();
  expect_whole(h, next_base - 2);
  EXPECT_FALSE(fs::exists(h.partition(logs[2])));
  EXPECT_FALSE(fs::exists(h.partition(logs.back())));
}

TEST(Recovery, SegmentsBehindALostTailAreDropped) {
  for (bool compact : {false, true}) {
    LogConfig config = small_segments();
    config.compact_policy = compact;
    Harness h(config);
    fill(h, 60);
    h.lose_power();
    std::vector<std::string> logs;
    for (auto& [name, bytes] : contents(h, true)) logs.push_back(name);
    ASSERT_GE(logs.size(), 4u);
    int64_t next_base = std::stoll(logs[2]);
    int64_t batches = (next_base - std::stoll(logs[1])) / 2;
    auto size = static_cast<int64_t>(fs::file_size(h.partition(logs[1])));
    // The last batch went without a trace: whole batches are left.
    fs::resize_file(h.partition(logs[1]), static_cast<uintmax_t>(size - size / batches));
    h.start();
    ASSERT_EQ(h.load_error, "");
    EXPECT_EQ(fs::exists(h.partition(logs[2])), compact) << "compaction leaves such gaps";
    EXPECT_EQ(h.log->next_offset(), compact ? 120 : next_base - 2);
  }
}

TEST(Recovery, DamageBelowTheRecoveryPointIsNotCutAway) {
  Harness h;
  fill(h, 10);
  h.save_checkpoints();
  fill(h, 3);
  h.lose_power();
  std::string file = h.partition("00000000000000000000.log");
  std::string good = read_all(file);
  size_t size = good.size() / 13;
  std::string bad = good;
  bad[4 * size + 70] = static_cast<char>(bad[4 * size + 70] ^ 1);
  write_all(file, bad);
  h.start();
  EXPECT_NE(h.load_error.find("from offset 8"), std::string::npos) << h.load_error;
  EXPECT_NE(h.load_error.find("offset 20 "), std::string::npos) << h.load_error;
  EXPECT_EQ(read_all(file), bad);
  // A tail that was never synced is another matter.
  h.lose_power();
  bad = good;
  bad[11 * size + 70] = static_cast<char>(bad[11 * size + 70] ^ 1);
  write_all(file, bad);
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 22);
  // Nor may the end be missing below it.
  h.lose_power();
  fs::resize_file(file, 3 * size);
  h.start();
  EXPECT_NE(h.load_error.find("ends at offset 6"), std::string::npos) << h.load_error;
}

// Deletes the first `count` segments; their files are there still, under their new names.
void delete_oldest(Harness& h, size_t count) {
  std::vector<std::string> logs;
  for (auto& [name, bytes] : contents(h, true)) logs.push_back(name);
  ASSERT_GT(logs.size(), count);
  h.log->set_log_start_offset(std::stoll(logs[count]));
  ASSERT_EQ(h.log->apply_retention(0, h.log->next_offset()), static_cast<int>(count));
}

TEST(Recovery, ATornTailWithoutItsSnapshotIsCut) {
  Harness h(small_segments());
  for (int i = 0; i < 60; ++i) h.append({.records = 2, .value_bytes = 50});
  h.settle();
  std::vector<std::string> logs;
  for (auto& [name, bytes] : contents(h, true)) logs.push_back(name);
  ASSERT_GE(logs.size(), 2u);
  write_all(h.dir / "data/recovery-point-offset-checkpoint",
            "0\n1\nt 0 " + std::to_string(std::stoll(logs.back())) + "\n");
  h.lose_power();
  // No producer has an id: the state of what is before says nothing about where it ends.
  for (const auto& entry : fs::directory_iterator(h.dir / "data/t-0")) {
    if (entry.path().extension() == ".snapshot") fs::remove(entry.path());
  }
  uint64_t size = fs::file_size(h.partition(logs.back()));
  fs::resize_file(h.partition(logs.back()), 20);
  fs::resize_file(h.partition(logs.back()), size);
  h.start();
  ASSERT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), std::stoll(logs.back()));
}

TEST(Recovery, AGapThatDeletionMadeLosesNothingBehindIt) {
  for (bool known : {false, true}) {
    Harness h(small_segments());
    fill(h, 60);
    if (known) h.save_checkpoints();
    std::string first = "00000000000000000000.log";
    std::string before = read_all(h.partition(first));
    delete_oldest(h, 3);
    // Of the three renames the power loss took the first one back.
    h.lose_power();
    fs::rename(h.partition(first + ".deleted"), h.partition(first));
    for (int i = 0; i < 3; ++i) {
      h.start();
      ASSERT_EQ(h.load_error, "");
      EXPECT_EQ(h.log->next_offset(), 120);
      EXPECT_EQ(read_all(h.partition(first)), before);
      h.settle();  // what was deleted would be unlinked now
      h.lose_power();
    }
  }
}

TEST(Recovery, ALogOfWhichEverythingWasDeletedEndsWhereItDid) {
  Harness h(small_segments());
  fill(h, 60);
  LogConfig config = small_segments();
  config.retention_bytes = 0;
  h.log->set_config(config);
  while (h.log->apply_retention(0, 120) > 0) {
  }
  h.lose_power();
  // The new segment's name was not on disk.
  fs::remove(h.partition("00000000000000000120.log"));
  h.start();
  ASSERT_EQ(h.load_error, "");
  EXPECT_EQ(h.log->next_offset(), 120);
}

TEST(Recovery, AGapBelowTheRecoveryPointIsToldAndLeftAsItIs) {
  Harness h(small_segments());
  fill(h, 60);
  h.save_checkpoints();
  std::string checkpoint = h.dir / "data/recovery-point-offset-checkpoint";
  h.lose_power();
  std::vector<std::string> logs;
  for (auto& [name, bytes] : contents(h, true)) logs.push_back(name);
  int64_t point = std::stoll(logs[1]) + 6;
  write_all(checkpoint, "0\n1\nt 0 " + std::to_string(point) + "\n");
  fs::resize_file(h.partition(logs[1]), 0);
  auto before = contents(h, true);
  h.start();
  EXPECT_NE(h.load_error.find("although everything before offset " + std::to_string(point)),
            std::string::npos)
      << h.load_error;
  EXPECT_EQ(contents(h, true), before);
}

TEST(Recovery, StartsAtTheRecoveryPointAndTrustsEarlierSegments) {
  Harness h(small_segments());
  fill(h, 60);
  h.save_checkpoints();
  fill(h, 10);
  h.crash();
  h.start();
  expect_whole(h, 140);
  // An old epochs' file is completed from the headers.
  h.crash();
  write_all(h.partition("leader-epoch-checkpoint"), "0\n1\n0 0\n");
  h.start();
  expect_whole(h, 140);
  h.crash();
  write_all(h.partition("leader-epoch-checkpoint"), "nonsense");
  h.start();
  expect_whole(h, 140);
}

TEST(Recovery, DamagedIndexesOfOldSegmentsAreMadeAgain) {
  Harness h(small_segments());
  fill(h, 60);
  auto good = contents(h);
  h.save_checkpoints();
  h.crash();
  std::string zeros(64, '\0');
  write_all(h.partition("00000000000000000000.index"), read_all(h.partition("00000000000000000000.index")) + zeros);
  std::string second = std::next(contents(h, true).begin())->first;
  second.replace(second.size() - 4, 4, ".timeindex");
  write_all(h.partition(second), "");
  // A block in the middle that never reached the disk.
  std::string third = std::next(contents(h, true).begin(), 2)->first;
  third.replace(third.size() - 4, 4, ".index");
  std::string holed = read_all(h.partition(third));
  ASSERT_GE(holed.size(), 32u);
  holed.replace(8, 8, 8, '\0');
  write_all(h.partition(third), holed);
  h.start();
  expect_whole(h, 120);
  EXPECT_EQ(read_all(h.partition(third)), good[third]);
  EXPECT_EQ(read_all(h.partition("00000000000000000000.index")), good["00000000000000000000.index"]);
  EXPECT_EQ(read_all(h.partition(second)), good[second]);
}

TEST(Recovery, AnIndexThatMisleadsIsNotBelieved) {
  Harness h(small_segments());
  fill(h, 60);
  h.stop();
  std::string file = h.partition("00000000000000000000.index");
  std::string entries = read_all(file);
  ASSERT_GE(entries.size(), 32u);
  // Positions that are inside batches, and at another batch.
  for (size_t at = 0; at < entries.size(); at += 8) entries[at + 7] = static_cast<char>(entries[at + 7] ^ 3);
  std::copy_n(entries.begin() + 20, 4, entries.begin() + 12);
  write_all(file, entries);
  h.start();
  ASSERT_EQ(h.load_error, "");
  for (int64_t offset = 0; offset < 120; offset += 2) {
    std::string bytes = h.read_bytes(offset, 1);
    ASSERT_GE(bytes.size(), proto::kBatchHeaderSize) << offset;
    EXPECT_EQ(proto::BatchView(as_bytes(bytes)).base_offset(), offset);
  }
}

// As Apache Kafka wrote them before 4.0: one entry for an append of several batches.
TEST(Recovery, EntriesOfSeveralBatchesAreBelieved) {
  Harness h(small_segments());
  fill(h, 60);
  h.save_checkpoints();
  h.crash();
  std::string file = h.partition("00000000000000000000.index");
  std::string entries = read_all(file);
  ASSERT_GE(entries.size(), 32u);
  // Each entry, the last one too, gets the offset of the next one, which goes.
  std::string merged;
  for (size_t at = entries.size() % 16; at < entries.size(); at += 16)
    merged += entries.substr(at + 8, 4) + entries.substr(at + 4, 4);
  ASSERT_GE(merged.size(), 16u);
  write_all(file, merged);
  h.start();
  expect_whole(h, 120);
  EXPECT_EQ(read_all(file), merged) << "nothing to make again";
  h.crash();
  // The last offset of no batch.
  std::string wrong = merged;
  wrong[wrong.size() - 5] = static_cast<char>(wrong[wrong.size() - 5] - 1);
  write_all(file, wrong);
  h.start();
  expect_whole(h, 120);
  EXPECT_EQ(read_all(file), entries) << "made again";
}

TEST(Recovery, NewestSoundSnapshotIsUsed) {
  Harness h(small_segments());
  fill(h, 40);
  h.stop();
  write_all(h.partition(segment_file_name(80, ".snapshot")), "torn");
  h.start();
  AppendResult again = h.append({.records = 2, .producer_id = 7, .producer_epoch = 0, .sequence = 78});
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.base_offset, 78);
  EXPECT_EQ(h.append({.records = 2, .producer_id = 7, .producer_epoch = 0, .sequence = 80}).base_offset, 80);
}

TEST(Recovery, SnapshotsKeptAreThoseOfSegmentsAndTheNewest) {
  Harness h(small_segments());
  for (int i = 0; i < 5; ++i) {
    fill(h, 20);
    h.restart();
  }
  std::set<std::string> logs, snapshots;
  for (auto& [name, bytes] : contents(h)) {
    if (name.ends_with(".log")) logs.insert(name.substr(0, 20));
    if (name.ends_with(".snapshot")) snapshots.insert(name.substr(0, 20));
  }
  logs.erase(logs.begin());  // nothing is before the first
  std::string newest = segment_file_name(h.log->next_offset(), "");
  logs.insert(newest);
  EXPECT_EQ(snapshots, logs);
}

TEST(Recovery, AbortedTransactionsAreIndexedAgain) {
  Harness h;
  h.append({.records = 2, .producer_id = 5, .producer_epoch = 0, .sequence = 0, .transactional = true});
  h.append({.records = 1, .producer_id = 6, .producer_epoch = 0, .sequence = 0, .transactional = true});
  h.append_bytes(test::make_marker(5, 0, proto::ControlType::kAbort, 1), 0, AppendOrigin::kCoordinator);
  h.append_bytes(test::make_marker(6, 0, proto::ControlType::kAbort, 1), 0, AppendOrigin::kCoordinator);
  h.settle();
  std::string file = h.partition("00000000000000000000.txnindex");
  std::vector<AbortedTransaction> expected = {{5, 0, 3, 2}, {6, 2, 4, 5}};
  EXPECT_EQ(*read_transaction_index(h.io.fs, file), expected);
  h.crash();
  fs::remove(file);
  h.start();
  EXPECT_EQ(*read_transaction_index(h.io.fs, file), expected);
}

TEST(Recovery, LeftoversOfInterruptedWork) {
  Harness h(small_segments());
  fill(h, 40);
  h.stop();
  std::string first = read_all(h.partition("00000000000000000000.log"));
  write_all(h.partition("00000000000000000000.index.deleted"), "x");
  write_all(h.partition("leader-epoch-checkpoint.tmp"), "x");
  // A compacted first segment was about to take its place: it holds the last of its batches only.
  size_t size = first.size() / (first.size() / make_batch({.records = 2, .value_bytes = 50}).size());
  std::string compacted = first.substr(first.size() - size);
  int64_t kept = proto::BatchView(as_bytes(compacted)).base_offset();
  write_all(h.partition("00000000000000000000.log.swap"), compacted);
  write_all(h.partition("00000000000000000000.index.swap"), "");
  write_all(h.partition("00000000000000000000.timeindex.swap"), "");
  h.start();
  EXPECT_EQ(h.load_error, "");
  EXPECT_EQ(read_all(h.partition("00000000000000000000.log")), compacted);
  for (auto& [name, bytes] : contents(h)) {
    EXPECT_FALSE(name.ends_with(".swap") || name.ends_with(".deleted") || name.ends_with(".tmp")) << name;
  }
  std::string bytes = h.read_bytes(0, 1);
  EXPECT_EQ(proto::BatchView(as_bytes(bytes)).base_offset(), kept) << "the first batch after the gap";
  h.stop();
  // A cleaner that had not finished: nothing changes.
  write_all(h.partition("00000000000000000000.log.cleaned"), "x");
  write_all(h.partition("00000000000000000000.timeindex.swap"), "x");
  h.start();
  EXPECT_EQ(read_all(h.partition("00000000000000000000.log")), compacted);
  EXPECT_FALSE(fs::exists(h.partition("00000000000000000000.timeindex.swap")));
}

}  // namespace
}  // namespace pelton::storage
