// Lookups by time against a list of records: any order of times, codecs, log starts and ends.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using test::Harness;

constexpr int64_t kTime = 1'700'000'000'000;

struct Record {
  int64_t offset = 0;
  int64_t time = 0;
};

class TimestampModel : public testing::TestWithParam<int> {
 protected:
  // Times wander forward, with steps back and repeats.
  void fill(int batches) {
    int64_t time = kTime;
    for (int i = 0; i < batches; ++i) {
      time += static_cast<int64_t>(below(50)) - 20;
      int records = 1 + static_cast<int>(below(4));
      int64_t step = static_cast<int64_t>(below(7)) - 3;
      auto codec = std::array{proto::Codec::kNone, proto::Codec::kZstd, proto::Codec::kGzip}[below(3)];
      auto appended = h_.append({.records = records, .timestamp = time, .timestamp_step = step, .codec = codec});
      ends_.push_back(appended.base_offset);
      for (int64_t r = 0; r < records; ++r) records_.push_back({appended.base_offset + r, time + r * step});
      if (below(3) == 0) h_.settle();
    }
    h_.settle();
    ends_.push_back(h_.log->next_offset());
  }
  uint64_t below(uint64_t bound) { return random_() % bound; }

  void check(int64_t end) {
    LogPosition upper = *h_.log->position_of(end);
    int64_t start = h_.log->log_start_offset();
    for (int i = 0; i < 40; ++i) {
      int64_t time = kTime - 100 + static_cast<int64_t>(below(900));
      const Record* expected = nullptr;
      for (const Record& record : records_) {
        if (record.offset < start || record.offset >= end || record.time < time) continue;
        expected = &record;
        break;
      }
      auto found = test::offset_for_timestamp(*h_.log, time, upper);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->offset, expected == nullptr ? -1 : expected->offset) << time << " below " << end;
      ASSERT_EQ(found->timestamp, expected == nullptr ? -1 : expected->time);
    }
    const Record* largest = nullptr;
    for (const Record& record : records_) {
      if (record.offset < batch_of(start) || record.offset >= end) continue;
      if (largest == nullptr || record.time > largest->time) largest = &record;
    }
    auto max = test::max_timestamp(*h_.log, upper);
    ASSERT_TRUE(max.has_value());
    // What the start of the log cuts off from its batch is not found.
    if (largest == nullptr || largest->offset < start) return;
    ASSERT_EQ(max->offset, largest->offset) << "below " << end;
    ASSERT_EQ(max->timestamp, largest->time);
  }

  // Where the batch that holds the offset begins.
  int64_t batch_of(int64_t offset) const {
    return *std::prev(std::upper_bound(ends_.begin(), ends_.end(), offset));
  }

  static LogConfig make_config(int seed) {
    LogConfig config;
    config.segment_bytes = 1500 + seed % 3 * 2000;
    config.index_interval_bytes = seed % 4 * 150;
    return config;
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
  Harness h_{make_config(GetParam())};
  std::vector<Record> records_;
  std::vector<int64_t> ends_;
};

TEST_P(TimestampModel, FindsWhatAListFinds) {
  fill(80);
  for (int i = 0; i < 12; ++i) check(ends_[below(ends_.size())]);
  h_.log->set_log_start_offset(static_cast<int64_t>(below(records_.size() / 2)));
  for (int i = 0; i < 12; ++i) check(ends_[ends_.size() - 1 - below(ends_.size() / 4)]);
  h_.restart();
  check(ends_.back());
}
INSTANTIATE_TEST_SUITE_P(Seeds, TimestampModel, testing::Range(0, 16));

TEST(Timestamps, ALogStartDeepInASegmentIsNotWalkedTo) {
  Harness h;
  for (int i = 0; i < 4000; ++i) h.append({.value_bytes = 200, .timestamp = kTime + i});
  h.settle();
  h.log->set_log_start_offset(3990);
  h.io.fs.calls = 0;
  EXPECT_EQ(test::offset_for_timestamp(*h.log, 0, h.log->written_end())->offset, 3990);
  EXPECT_LT(h.io.fs.calls, 30);
}

// With a high watermark behind the log's end.
TEST(Timestamps, TheLargestBelowTheEndIsNotSearchedThroughTheSegment) {
  Harness h;
  for (int i = 0; i < 4000; ++i) h.append({.value_bytes = 200, .timestamp = kTime});
  h.settle();
  LogPosition upper = *h.log->position_of(3999);
  h.io.fs.calls = 0;
  EXPECT_EQ(test::max_timestamp(*h.log, upper)->offset, 0);
  EXPECT_LT(h.io.fs.calls, 40);
}

TEST(Timestamps, WhatIsTooMuchIsNotStarted) {
  Harness h;
  h.append({.records = 100, .value_bytes = 1000, .timestamp = kTime, .timestamp_step = 1, .codec = proto::Codec::kZstd});
  h.append({.records = 10, .value_bytes = 1000, .timestamp = kTime + 1000});
  h.settle();
  auto run = [&](int64_t time, const TimestampSearch::Limits& limits) {
    auto search = h.log->search_timestamp(time, h.log->written_end());
    return *(*search)->run(limits, nullptr);
  };
  constexpr TimestampSearch::Limits kRoom{100, 1 << 20, 1 << 20};
  EXPECT_EQ(run(kTime + 50, kRoom)->offset, 50);
  EXPECT_EQ(run(kTime + 1000, kRoom)->offset, 100);
  EXPECT_FALSE(run(kTime + 50, {100, 1 << 20, 10'000}).has_value()) << "output";
  EXPECT_EQ(run(kTime + 5, {100, 1 << 20, 10'000})->offset, 5) << "not needed that far";
  EXPECT_FALSE(run(kTime + 1000, {100, 5'000, 1 << 20}).has_value()) << "size of a batch";
  EXPECT_FALSE(run(kTime + 1000, {1, 1 << 20, 1 << 20}).has_value()) << "batches looked at";
}

TEST(Timestamps, ABatchThatDoesNotParseIsNamed) {
  Harness h;
  h.append({.records = 3, .value_bytes = 300, .timestamp = kTime, .codec = proto::Codec::kZstd});
  h.settle();
  std::string file = h.partition("00000000000000000000.log");
  std::string bytes = test::read_all(file);
  bytes[70] = static_cast<char>(bytes[70] ^ 0x55);
  test::write_all(file, bytes);
  EXPECT_EQ(test::offset_for_timestamp(*h.log, kTime, h.log->written_end()).error(),
            proto::ErrorCode::kCorruptMessage);
}

}  // namespace
}  // namespace pelton::storage
