// What ages: retention by size and time, the log start, deletion in two steps.
#include <gtest/gtest.h>

#include <set>

#include "storage/log_deletion.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

namespace fs = std::filesystem;
using test::Harness;

constexpr int64_t kBase = 1'700'000'000'000;  // the harness's clock

// Ten batches, two a segment; batch i has timestamp kBase + i.
LogConfig two_a_segment() {
  LogConfig config;
  config.segment_bytes = 400;
  config.file_delete_delay_ms = 1000;
  config.retention_ms = -1;
  return config;
}

void fill(Harness& h) {
  for (int i = 0; i < 10; ++i) h.append({.value_bytes = 100, .timestamp = kBase + i}, i / 4);
  h.settle();
}

int count_files(Harness& h, const std::string& suffix) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(h.dir / "data/t-0")) {
    if (entry.path().filename().string().ends_with(suffix)) ++count;
  }
  return count;
}

TEST(Retention, ASegmentWhoseFileCannotBeRenamedStays) {
  LogConfig config = two_a_segment();
  Harness h(config);
  fill(h);
  // A file cannot be renamed to the name of a directory.
  std::string obstacle = h.partition("00000000000000000002.log.deleted");
  fs::create_directory(obstacle);
  config.retention_bytes = 0;
  h.log->set_config(config);
  EXPECT_EQ(h.log->apply_retention(kBase, 10), 1) << "the one before it goes";
  EXPECT_EQ(h.log->log_start_offset(), 2);
  EXPECT_FALSE(h.read_bytes(2, 1000).empty());
  EXPECT_FALSE(h.log->failed());
  EXPECT_EQ(h.log->apply_retention(kBase, 10), 0);
  EXPECT_TRUE(h.log->failed()) << "a fault of the disk, not a want of room";
}

TEST(Retention, BySize) {
  LogConfig config = two_a_segment();
  Harness h(config);
  fill(h);
  ASSERT_EQ(count_files(h, ".log"), 5);
  uint64_t size = h.log->size_bytes();
  config.retention_bytes = static_cast<int64_t>(size * 3 / 5);
  h.log->set_config(config);
  EXPECT_EQ(h.log->apply_retention(kBase, 1), 0) << "nothing past the high watermark";
  EXPECT_EQ(h.log->apply_retention(kBase, 10), 2);
  EXPECT_EQ(h.log->log_start_offset(), 4);
  EXPECT_EQ(h.log->size_bytes(), size * 3 / 5);
  EXPECT_EQ(h.log->read(3, 100, h.log->written_end(), true).error(), proto::ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(h.log->epoch_of(4), 1);
  EXPECT_EQ(h.log->epoch_of(3), -1);
  // First renamed, later gone.
  EXPECT_EQ(count_files(h, ".log.deleted"), 2);
  h.io.time_ns += 500'000'000;
  h.settle();
  EXPECT_EQ(count_files(h, ".deleted"), 7) << "two segments of three files, the snapshot between";
  h.io.time_ns += 600'000'000;
  for (int i = 0; i < 20; ++i) h.turn();
  EXPECT_EQ(count_files(h, ".deleted"), 0);
  EXPECT_TRUE(h.storage->deletions->idle());
}

TEST(Retention, ByTimeRollsTheActiveSegmentToo) {
  LogConfig config = two_a_segment();
  config.retention_ms = 1000;
  Harness h(config);
  fill(h);
  EXPECT_EQ(h.log->apply_retention(kBase + 1003, 10), 1) << "the first has 0 and 1, the second 2 and 3";
  EXPECT_EQ(h.log->log_start_offset(), 2);
  EXPECT_EQ(h.log->apply_retention(kBase + 5000, 9), 3) << "the last reaches beyond the high watermark";
  EXPECT_EQ(h.log->apply_retention(kBase + 5000, 10), 1);
  EXPECT_EQ(h.log->log_start_offset(), 10);
  EXPECT_EQ(h.log->size_bytes(), 0u);
  EXPECT_EQ(h.log->next_offset(), 10);
  EXPECT_EQ(h.log->apply_retention(kBase + 5000, 10), 0) << "an empty one stays";
  EXPECT_EQ(h.append({.value_bytes = 100}).base_offset, 10);
  h.settle();
  EXPECT_EQ(h.log->synced_end().offset, 11);
  h.restart();
  EXPECT_EQ(h.log->log_start_offset(), 10);
  EXPECT_EQ(h.log->next_offset(), 11);
}

TEST(Retention, RecordsOfTheFutureStay) {
  LogConfig config = two_a_segment();
  config.retention_ms = 1000;
  Harness h(config);
  h.append({.value_bytes = 100, .timestamp = kBase + 3'600'000});
  h.append({.value_bytes = 100, .timestamp = kBase});
  h.append({.value_bytes = 100, .timestamp = kBase});
  h.append({.value_bytes = 100, .timestamp = kBase});
  h.settle();
  EXPECT_EQ(h.log->apply_retention(kBase + 100'000, 4), 0) << "the first segment holds back the others";
  EXPECT_EQ(h.log->apply_retention(kBase + 3'601'000, 4), 0) << "not older than retention.ms";
  EXPECT_EQ(h.log->apply_retention(kBase + 3'601'001, 4), 2);
}

TEST(Retention, WithoutTimestampsTheFilesTimeCounts) {
  LogConfig config = two_a_segment();
  config.retention_ms = 1000;
  Harness h(config);
  for (int i = 0; i < 4; ++i) h.append({.value_bytes = 100, .timestamp = -1});
  h.settle();
  int64_t modified = *h.io.fs.modified_ms(h.partition("00000000000000000000.log"));
  EXPECT_EQ(h.log->apply_retention(modified + 1000, 4), 0);
  EXPECT_GT(h.log->apply_retention(modified + 2000, 4), 0);
}

TEST(Retention, ManySegmentsGoInSeveralCalls) {
  LogConfig config = two_a_segment();
  config.segment_bytes = 200;
  config.retention_ms = 0;
  Harness h(config);
  for (int i = 0; i < 80; ++i) h.append({.value_bytes = 100, .timestamp = kBase});
  h.settle();
  int calls = 0, deleted = 0;
  while (int more = h.log->apply_retention(kBase + 1000, 80)) {
    EXPECT_LE(more, 32);
    deleted += more;
    ++calls;
  }
  EXPECT_EQ(deleted, 80);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(h.log->log_start_offset(), 80);
}

TEST(Retention, SegmentsRollEarlierByAJitterOfTheirOwn) {
  LogConfig config;
  config.segment_ms = 100'000;
  config.segment_jitter_ms = 50'000;
  Harness h(config);
  std::set<int64_t> ages;
  int64_t began = kBase;
  h.append({.timestamp = began});
  for (int64_t time = kBase; ages.size() < 4; time += 500) {
    int64_t before = h.log->written_end().segment_base;
    h.append({.timestamp = time});
    h.settle();
    if (h.log->written_end().segment_base == before) continue;
    ages.insert(time - began);
    began = time;
    ASSERT_LT(time, kBase + 10'000'000) << "all the same";
  }
  EXPECT_GT(*ages.begin(), 50'000);
  EXPECT_LE(*ages.rbegin(), 100'500);
}

TEST(Retention, OnlyWithTheDeletePolicy) {
  LogConfig config = two_a_segment();
  config.retention_ms = 0;
  config.retention_bytes = 0;
  config.delete_policy = false;
  config.compact_policy = true;
  Harness h(config);
  fill(h);
  EXPECT_EQ(h.log->apply_retention(kBase + 100'000, 10), 0);
}

TEST(Retention, LogStartOffset) {
  Harness h(two_a_segment());
  fill(h);
  h.log->set_log_start_offset(5);
  h.log->set_log_start_offset(3);
  EXPECT_EQ(h.log->log_start_offset(), 5) << "never goes back";
  EXPECT_EQ(h.log->apply_retention(kBase, 10), 2) << "whole segments below it";
  EXPECT_EQ(h.log->log_start_offset(), 5);
  EXPECT_EQ(test::offset_for_timestamp(*h.log, 0, h.log->written_end())->offset, 5);
  h.restart();
  EXPECT_EQ(h.log->log_start_offset(), 5);
  EXPECT_EQ(h.log_dir->checkpoint_of(h.id)->log_start_offset, 5);
}

TEST(Retention, APinnedSegmentIsReadToTheEnd) {
  LogConfig config = two_a_segment();
  config.retention_ms = 0;
  Harness h(config);
  fill(h);
  auto slice = h.log->read(0, 1000, h.log->written_end(), true);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(h.log->apply_retention(kBase + 100'000, 10), 5);
  h.io.time_ns += 60'000'000'000;
  for (int i = 0; i < 40; ++i) h.turn();
  EXPECT_EQ(count_files(h, ".deleted"), 0);
  std::vector<uint8_t> bytes(slice->length);
  EXPECT_EQ(*h.io.fs.pread(slice->file, bytes, slice->position), bytes.size());
  EXPECT_EQ(proto::BatchView(bytes).base_offset(), 0);
}

}  // namespace
}  // namespace pelton::storage
