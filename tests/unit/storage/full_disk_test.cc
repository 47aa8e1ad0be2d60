// A disk without room: appends are refused and go on when there is room again; nothing is lost and nothing is there
// twice.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "storage/transaction_index.h"
#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;
using test::Harness;

// When the log tries again.
void later(Harness& h) {
  h.io.time_ns += 1'100'000'000;
  h.turn();
}

TEST(FullDisk, WhatWasQueuedIsTakenBack) {
  Harness h;
  h.append({.producer_id = 7, .producer_epoch = 0, .sequence = 0});
  h.settle();
  uint64_t size = h.log->size_bytes();
  h.io.fs.room = 0;
  AppendResult queued =
      h.append({.timestamp = 1'700'000'005'000, .producer_id = 7, .producer_epoch = 0, .sequence = 1, .transactional = true});
  EXPECT_EQ(queued.base_offset, 1);
  EXPECT_EQ(h.append({.producer_id = 8, .producer_epoch = 0, .sequence = 0}).base_offset, 2);
  h.turn();
  EXPECT_EQ(h.observer.suspensions, 1);
  EXPECT_EQ(h.observer.failures, 0);
  EXPECT_FALSE(h.log->failed());
  EXPECT_EQ(h.log->next_offset(), 1);
  EXPECT_EQ(h.log->written_end().offset, 1);
  EXPECT_EQ(h.log->size_bytes(), size);
  EXPECT_EQ(std::filesystem::file_size(h.partition("00000000000000000000.log")), size);
  EXPECT_FALSE(h.log->first_unstable(1).has_value());
  EXPECT_EQ(test::max_timestamp(*h.log, h.log->written_end())->timestamp, 1'700'000'000'000);
  EXPECT_EQ(h.log->producer_count(), 1u);
  EXPECT_EQ(h.read_bytes(0, 1000).size(), size) << "reading goes on";
  EXPECT_EQ(h.append({}).error, ErrorCode::kKafkaStorageError) << "not tried with every batch";
  later(h);
  EXPECT_EQ(h.append({}).error, ErrorCode::kNone);
  h.turn();
  EXPECT_EQ(h.observer.suspensions, 2) << "still full";
  h.io.fs.room.reset();
  EXPECT_EQ(h.append({}).error, ErrorCode::kKafkaStorageError);
  later(h);
  AppendResult again = h.append({.producer_id = 7, .producer_epoch = 0, .sequence = 1});
  EXPECT_EQ(again.base_offset, 1);
  EXPECT_FALSE(again.duplicate) << "the first one never was in the log";
  h.settle();
  EXPECT_EQ(h.log->synced_end().offset, 2);
  h.restart();
  EXPECT_EQ(h.log->next_offset(), 2);
}

// The five batches that a producer is known by come back as they were.
TEST(FullDisk, RepeatedBatchesAreKnownAsBefore) {
  Harness h;
  for (int i = 0; i < 6; ++i) h.append({.producer_id = 7, .producer_epoch = 0, .sequence = i});
  h.settle();
  h.io.fs.room = 0;
  for (int i = 6; i < 9; ++i) h.append({.producer_id = 7, .producer_epoch = 0, .sequence = i});
  h.turn();
  h.io.fs.room.reset();
  later(h);
  for (int i = 1; i < 6; ++i) {
    EXPECT_TRUE(h.append({.producer_id = 7, .producer_epoch = 0, .sequence = i}).duplicate) << i;
  }
  EXPECT_EQ(h.append({.producer_id = 7, .producer_epoch = 0, .sequence = 7}).error,
            ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(h.append({.producer_id = 7, .producer_epoch = 0, .sequence = 6}).base_offset, 6);
}

TEST(FullDisk, TransactionsAreOpenAsBefore) {
  Harness h;
  auto write = [&](int64_t producer) {
    h.append({.producer_id = producer, .producer_epoch = 0, .sequence = 0, .transactional = true});
  };
  auto end = [&](int64_t producer) {
    h.append_bytes(test::make_marker(producer, 0, proto::ControlType::kAbort, 1), 0, AppendOrigin::kCoordinator);
  };
  write(5);
  write(6);
  h.settle();
  h.io.fs.room = 0;
  end(5);
  write(7);
  end(7);
  end(6);
  h.turn();
  h.io.fs.room.reset();
  EXPECT_EQ(h.log->first_unstable(2)->offset, 0);
  EXPECT_EQ(h.log->transaction_standing(5, 0), TransactionStanding::kOngoing);
  EXPECT_EQ(h.log->transaction_standing(6, 0), TransactionStanding::kOngoing);
  EXPECT_EQ(h.log->transaction_standing(7, 0), TransactionStanding::kUnknown);
  later(h);
  end(6);
  h.settle();
  EXPECT_EQ(h.log->first_unstable(3)->offset, 0);
  end(5);
  h.settle();
  EXPECT_FALSE(h.log->first_unstable(4).has_value());
  std::vector<AbortedTransaction> expected{{6, 1, 2, 0}, {5, 0, 3, 4}};
  EXPECT_EQ(*read_transaction_index(h.io.fs, h.partition("00000000000000000000.txnindex")), expected);
}

TEST(FullDisk, SegmentsGoAsFarAsTheirNamesCanBeChanged) {
  LogConfig config;
  config.segment_bytes = 400;
  config.file_delete_delay_ms = 0;
  for (int works = 0; works < 14; ++works) {
    Harness h(config);
    for (int i = 0; i < 10; ++i) h.append({.value_bytes = 100});
    h.settle();
    LogConfig none = config;
    none.retention_bytes = 0;
    h.log->set_config(none);
    h.io.fs.room = works;
    int deleted = h.log->apply_retention(0, 6);
    h.io.fs.room.reset();
    EXPECT_FALSE(h.log->failed());
    EXPECT_EQ(h.log->log_start_offset(), 2 * deleted);
    EXPECT_EQ(deleted, std::min((works + 3) / 4, 3)) << works;
    for (int64_t offset = 2 * deleted; offset < 10; ++offset)
      EXPECT_GT(h.read_bytes(offset, 1000).size(), 0u) << offset;
    later(h);
    h.log->apply_retention(0, 6);
    EXPECT_EQ(h.log->log_start_offset(), 6);
    for (int i = 0; i < 100; ++i) {
      h.io.time_ns += 1'000'000;
      h.turn();
    }
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(h.dir / "data/t-0")) {
      std::string name = entry.path().filename();
      if (name[0] == '0') names.insert(name.substr(18, 2));
    }
    EXPECT_EQ(names, (std::set<std::string>{"06", "08"})) << works;
    h.restart();
    EXPECT_EQ(h.log->log_start_offset(), 6);
  }
}

// A job of appends in which the disk is full for a while, from its k-th call that needs room on, for every k.
class EveryCall {
 public:
  explicit EveryCall(int k) : h_(config()) { h_.io.fs.room = k; }

  // Whether the disk was full at all.
  bool run() {
    for (int i = 0; i < 26; ++i) {
      int64_t producer = i % 3;
      bool marker = i % 7 == 6;
      write(producer, marker, i);
      if (i == 16) retain();
    }
    check("as it ran");
    int refused = h_.io.fs.refused;
    h_.io.fs.room.reset();
    // Recovery from the files alone, then from an orderly stop.
    h_.crash();
    h_.start();
    check("after a crash");
    h_.restart();
    check("after a stop");
    return refused > 0;
  }

 private:
  static LogConfig config() {
    LogConfig config;
    config.segment_bytes = 900;
    config.index_interval_bytes = 100;
    config.retention_ms = -1;
    return config;
  }

  void write(int64_t producer, bool marker, int number) {
    std::vector<uint8_t> batch =
        marker ? test::make_marker(producer, 0, proto::ControlType::kAbort, 1)
               : test::make_batch({.records = 1 + number % 3,
                                   .value_bytes = 60,
                                   .timestamp = 1'700'000'000'000 + number,
                                   .producer_id = producer,
                                   .producer_epoch = 0,
                                   .sequence = sequences_[producer],
                                   .transactional = true});
    auto origin = marker ? AppendOrigin::kCoordinator : AppendOrigin::kClient;
    for (int attempt = 0;; ++attempt) {
      ASSERT_LT(attempt, 10) << "it does not come back";
      AppendResult result = h_.append_bytes(batch, 0, origin);
      h_.settle();
      ASSERT_FALSE(h_.log->failed());
      bool there = result.error == ErrorCode::kNone && h_.log->written_end().offset > result.last_offset;
      if (there) {
        ASSERT_FALSE(result.duplicate);
        ASSERT_EQ(result.base_offset, next_);
        next_ = result.last_offset + 1;
        batches_.push_back(result.base_offset);
        break;
      }
      ASSERT_EQ(h_.log->next_offset(), next_);
      // Room comes back after the third attempt.
      if (attempt == 2) h_.io.fs.room.reset();
      later(h_);
    }
    if (!marker) sequences_[producer] += 1 + number % 3;
  }

  void retain() {
    LogConfig some = config();
    some.retention_bytes = static_cast<int64_t>(h_.log->size_bytes()) - 500;
    h_.log->set_config(some);
    h_.log->apply_retention(0, next_);
    h_.log->set_config(config());
    ASSERT_FALSE(h_.log->failed());
  }

  void check(const char* when) {
    ASSERT_EQ(h_.load_error, "");
    ASSERT_EQ(h_.log->next_offset(), next_) << when;
    std::vector<int64_t> seen;
    ASSERT_TRUE(h_.log->for_each_batch(0, [&](Bytes bytes) {
      EXPECT_TRUE(proto::validate(bytes, {proto::BatchOrigin::kLog, true}).has_value());
      seen.push_back(proto::BatchView(bytes).base_offset());
      return true;
    })) << when;
    std::vector<int64_t> expected;
    for (int64_t base : batches_) {
      if (base >= h_.log->log_start_offset()) expected.push_back(base);
    }
    ASSERT_EQ(seen, expected) << when;
    for (int64_t base : expected) {
      std::string bytes = h_.read_bytes(base, 1);
      ASSERT_EQ(proto::BatchView(as_bytes(bytes)).base_offset(), base) << when;
    }
    for (auto& [producer, sequence] : sequences_) {
      ASSERT_EQ(h_.append({.producer_id = producer, .producer_epoch = 0, .sequence = sequence + 5,
                           .transactional = true}).error,
                ErrorCode::kOutOfOrderSequenceNumber)
          << when;
    }
  }

  Harness h_;
  int64_t next_ = 0;
  std::vector<int64_t> batches_;
  std::map<int64_t, int32_t> sequences_;
};

TEST(FullDisk, AtEveryCallThatNeedsRoom) {
  int k = 0;
  while (EveryCall(k).run() && !testing::Test::HasFatalFailure()) ++k;
  EXPECT_GT(k, 50) << "data, indexes, snapshots, epochs, new segments, deletions";
}

}  // namespace
}  // namespace pelton::storage
