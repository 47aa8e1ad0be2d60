// Append and read of one log.
#include <gtest/gtest.h>

#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;
using test::BatchSpec;
using test::Harness;
using test::make_batch;

TEST(Log, StampsAndWritesOncePerTurn) {
  Harness h;
  AppendResult first = h.append({.records = 3}, 5);
  AppendResult second = h.append({.records = 2}, 5);
  EXPECT_EQ(first.base_offset, 0);
  EXPECT_EQ(first.last_offset, 2);
  EXPECT_EQ(second.base_offset, 3);
  EXPECT_EQ(first.log_append_time, -1);
  EXPECT_EQ(h.log->next_offset(), 5);
  EXPECT_EQ(h.log->written_end().offset, 0) << "queued, not written";
  EXPECT_EQ(h.observer.written, 0);
  h.turn();
  EXPECT_EQ(h.observer.written, 1);
  EXPECT_EQ(h.log->written_end().offset, 5);
  EXPECT_EQ(counters(*h.storage).writes, 1u);
  std::string file = test::read_all(h.partition("00000000000000000000.log"));
  ASSERT_EQ(file.size(), h.log->size_bytes());
  proto::BatchView batch(as_bytes(file));
  EXPECT_EQ(batch.base_offset(), 0);
  EXPECT_EQ(batch.partition_leader_epoch(), 5);
  proto::BatchView next(as_bytes(file).subspan(batch.size()));
  EXPECT_EQ(next.base_offset(), 3);
  EXPECT_TRUE(proto::validate(as_bytes(file).first(batch.size()), {proto::BatchOrigin::kLog, true}));
  EXPECT_EQ(h.log->latest_epoch(), 5);
}

TEST(Log, LogAppendTime) {
  LogConfig config;
  config.log_append_time = true;
  Harness h(config);
  AppendResult result = h.append({.timestamp = 5});
  EXPECT_EQ(result.log_append_time, h.io.wall_ms());
  h.settle();
  std::string bytes = h.read_bytes(0, 1000);
  auto batch = proto::validate(as_bytes(bytes), {proto::BatchOrigin::kLog, true});
  ASSERT_TRUE(batch.has_value()) << "the CRC was computed again";
  EXPECT_EQ(batch->max_timestamp(), h.io.wall_ms());
  EXPECT_TRUE(batch->log_append_time());
}

TEST(Log, ReadLimits) {
  Harness h;
  size_t size = make_batch({.records = 2, .value_bytes = 100}).size();
  for (int i = 0; i < 4; ++i) h.append({.records = 2, .value_bytes = 100});
  h.settle();
  EXPECT_EQ(h.read_bytes(0, 1 << 20).size(), 4 * size);
  EXPECT_EQ(h.read_bytes(3, 1 << 20).size(), 3 * size) << "from the batch that holds the offset";
  EXPECT_EQ(h.read_bytes(2, 10).size(), size) << "the first batch is whole";
  EXPECT_EQ(h.read_bytes(2, 10, false).size(), 0u);
  EXPECT_EQ(h.read_bytes(0, static_cast<uint32_t>(size) + 7).size(), size + 7);
  EXPECT_EQ(h.read_bytes(8, 1000).size(), 0u) << "the end";
  EXPECT_EQ(h.log->read(9, 100, h.log->written_end(), true).error(), ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(h.log->read(-1, 100, h.log->written_end(), true).error(), ErrorCode::kOffsetOutOfRange);
  LogPosition upper = *h.log->position_of(4);
  auto slice = h.log->read(2, 1 << 20, upper, true);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->length, size);
  EXPECT_EQ(slice->first_batch_bytes, size);
  slice = h.log->read(4, 1 << 20, upper, true);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->length, 0u);
  EXPECT_EQ(slice->file, -1);
}

TEST(Log, QueuedBytesAreNotRead) {
  Harness h;
  h.append({});
  h.settle();
  h.append({});
  EXPECT_EQ(h.read_bytes(1, 1000).size(), 0u);
  LogPosition far{100, 0, 1 << 20};
  auto slice = h.log->read(0, 1 << 20, far, true);
  EXPECT_EQ(slice->length, make_batch({}).size()) << "written_end bounds whatever is asked";
  EXPECT_EQ(h.log->position_of(1)->position, make_batch({}).size());
}

TEST(Log, RollsBySizeAndReadsAcross) {
  LogConfig config;
  config.segment_bytes = 1000;
  Harness h(config);
  size_t size = make_batch({.value_bytes = 300}).size();
  for (int i = 0; i < 10; ++i) h.append({.value_bytes = 300});
  h.settle();
  EXPECT_EQ(h.observer.written, 1) << "several segments, one turn";
  EXPECT_TRUE(std::filesystem::exists(h.partition("00000000000000000002.log")));
  EXPECT_TRUE(std::filesystem::exists(h.partition("00000000000000000002.snapshot")));
  EXPECT_EQ(std::filesystem::file_size(h.partition("00000000000000000000.log")), 2 * size);
  for (int64_t offset = 0; offset < 10; ++offset) {
    std::string bytes = h.read_bytes(offset, 1 << 20);
    ASSERT_GE(bytes.size(), size) << offset;
    EXPECT_EQ(proto::BatchView(as_bytes(bytes)).base_offset(), offset);
  }
  EXPECT_EQ(h.log->bytes_between(*h.log->position_of(1), *h.log->position_of(7)), 6 * size);
  EXPECT_EQ(h.log->bytes_between(*h.log->position_of(7), *h.log->position_of(1)), 0u);
  EXPECT_EQ(h.log->bytes_between(*h.log->position_of(0), *h.log->position_of(10)), 10 * size);
  EXPECT_EQ(h.log->size_bytes(), 10 * size);
}

TEST(Log, RollsByRecordTimeAndByIndexSize) {
  LogConfig config;
  config.segment_ms = 1000;
  Harness h(config);
  h.append({.timestamp = 5000});
  h.append({.timestamp = 6000});
  h.append({.timestamp = 6001});
  h.settle();
  EXPECT_FALSE(std::filesystem::exists(h.partition("00000000000000000001.log")));
  EXPECT_TRUE(std::filesystem::exists(h.partition("00000000000000000002.log")));
  config = {};
  config.segment_index_bytes = 36;  // 4 entries of 8 bytes, 3 of 12
  config.index_interval_bytes = 1;
  Harness small(config);
  for (int i = 0; i < 20; ++i) small.append({.timestamp = 1000 + i});
  small.settle();
  // The first batch makes no entry; the time index keeps room for its last one.
  EXPECT_TRUE(std::filesystem::exists(small.partition("00000000000000000003.log")));
  EXPECT_EQ(std::filesystem::file_size(small.partition("00000000000000000000.timeindex")), 24u);
}

TEST(Log, AnIndexWithoutRoomForAnEntryMakesSegmentsOfOneBatch) {
  LogConfig config;
  config.segment_index_bytes = 4;  // the least that segment.index.bytes may be
  Harness h(config);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(h.append({}).base_offset, i);
  h.settle();
  for (const char* file : {"00000000000000000000.log", "00000000000000000001.log", "00000000000000000002.log"})
    EXPECT_GT(std::filesystem::file_size(h.partition(file)), 0u);
}

TEST(Log, AnyTimestampIsTaken) {
  LogConfig config;
  config.segment_ms = 1000;
  Harness h(config);
  h.append({.timestamp = 5000});
  EXPECT_EQ(h.append({.timestamp = INT64_MIN}).base_offset, 1);
  h.settle();
  EXPECT_FALSE(std::filesystem::exists(h.partition("00000000000000000001.log"))) << "it is not newer";
  EXPECT_EQ(h.append({.timestamp = INT64_MAX}).base_offset, 2);
  h.settle();
  EXPECT_TRUE(std::filesystem::exists(h.partition("00000000000000000002.log")));
}

TEST(Log, TooLargeForASegment) {
  LogConfig config;
  config.segment_bytes = 500;
  Harness h(config);
  EXPECT_EQ(h.append({.value_bytes = 600}).error, ErrorCode::kRecordListTooLarge);
  EXPECT_EQ(h.append({.value_bytes = 100}).base_offset, 0);
}

// Apache Kafka's rule, worked by hand: an entry for a batch when more than the interval was written since
// the last entry (or the segment's start), then counting begins with that batch.
TEST(Log, IndexFilesAreExact) {
  LogConfig config;
  config.index_interval_bytes = 250;
  config.segment_bytes = 2000;
  Harness h(config);
  int size = static_cast<int>(make_batch({.records = 2, .value_bytes = 10}).size());
  ASSERT_GT(size, 250 / 3);
  ASSERT_LT(size, 250 / 2);
  int64_t timestamps[] = {100, 90, 200, 150, 150, 300, 40, 400, 30, 500};
  for (int64_t timestamp : timestamps) h.append({.records = 2, .value_bytes = 10, .timestamp = timestamp});
  h.settle();
  h.stop();
  // 3 batches pass the interval: entries for batches 3, 6 and 9.
  std::string expected;
  for (int32_t batch : {3, 6, 9}) {
    uint8_t entry[8];
    store_be<int32_t>(entry, batch * 2 + 1);
    store_be<int32_t>(entry + 4, batch * size);
    expected.append(reinterpret_cast<char*>(entry), sizeof entry);
  }
  EXPECT_EQ(test::read_all(h.partition("00000000000000000000.index")), expected);
  // Largest so far with the last offset of its batch: 200 at batch 2, 300 at 5, 500 at 9.
  expected.clear();
  struct { int64_t timestamp; int32_t offset; } times[] = {{200, 5}, {300, 11}, {500, 19}};
  for (auto [timestamp, offset] : times) {
    uint8_t entry[12];
    store_be<int64_t>(entry, timestamp);
    store_be<int32_t>(entry + 8, offset);
    expected.append(reinterpret_cast<char*>(entry), sizeof entry);
  }
  EXPECT_EQ(test::read_all(h.partition("00000000000000000000.timeindex")), expected);
  EXPECT_EQ(std::filesystem::file_size(h.partition("00000000000000000000.log")),
            static_cast<uint64_t>(10 * size));
}

TEST(Log, DuplicatesAlsoWithinATurn) {
  Harness h;
  BatchSpec spec{.records = 2, .producer_id = 9, .producer_epoch = 0, .sequence = 0};
  EXPECT_FALSE(h.append(spec).duplicate);
  AppendResult again = h.append(spec);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_EQ(again.last_offset, 1);
  EXPECT_EQ(h.log->next_offset(), 2);
  spec.sequence = 5;
  EXPECT_EQ(h.append(spec).error, ErrorCode::kOutOfOrderSequenceNumber);
  h.settle();
  h.restart();
  spec.sequence = 0;
  AppendResult after = h.append(spec);
  EXPECT_TRUE(after.duplicate) << "the snapshot of the stop was loaded";
  EXPECT_EQ(after.base_offset, 0);
  spec.sequence = 2;
  EXPECT_EQ(h.append(spec).base_offset, 2);
}

TEST(Log, Timestamps) {
  LogConfig config;
  config.segment_bytes = 700;
  config.index_interval_bytes = 100;
  for (proto::Codec codec : {proto::Codec::kNone, proto::Codec::kZstd, proto::Codec::kLz4}) {
    Harness h(config);
    // Record times 1000, 1010, 1020 | 1100, ... in batches of three.
    for (int i = 0; i < 12; ++i) {
      h.append({.records = 3, .value_bytes = 40, .timestamp = 1000 + 100 * i, .timestamp_step = 10, .codec = codec});
    }
    h.settle();
    const LogPosition& end = h.log->written_end();
    for (int64_t time = 990; time < 2125; ++time) {
      int64_t expected = -1;
      for (int64_t record = 0; record < 36 && expected < 0; ++record) {
        if (1000 + 100 * (record / 3) + 10 * (record % 3) >= time) expected = record;
      }
      auto found = test::offset_for_timestamp(*h.log, time, end);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->offset, expected) << time;
    }
    EXPECT_EQ(test::max_timestamp(*h.log, end)->offset, 35);
    EXPECT_EQ(test::max_timestamp(*h.log, end)->timestamp, 2120);
    LogPosition upper = *h.log->position_of(6);
    EXPECT_EQ(test::max_timestamp(*h.log, upper)->offset, 5);
    EXPECT_EQ(test::offset_for_timestamp(*h.log, 1200, upper)->offset, -1);
    EXPECT_EQ(test::offset_for_timestamp(*h.log, 1105, upper)->offset, 4);
  }
}

TEST(Log, ForEachBatch) {
  LogConfig config;
  config.segment_bytes = 600;
  Harness h(config);
  for (int i = 0; i < 9; ++i) h.append({.records = 2, .value_bytes = 60});
  h.settle();
  std::vector<int64_t> seen;
  ASSERT_TRUE(h.log->for_each_batch(5, [&](Bytes batch) {
    seen.push_back(proto::BatchView(batch).base_offset());
    return seen.size() < 4;
  }));
  EXPECT_EQ(seen, (std::vector<int64_t>{4, 6, 8, 10}));
}

TEST(Log, AFailedWriteFailsTheLogOnce) {
  Harness h;
  h.append({});
  h.settle();
  h.io.fs.write_error = EIO;
  h.io.fs.write_budget = 20;
  h.append({.value_bytes = 500});
  h.turn();
  EXPECT_EQ(h.observer.failures, 1);
  EXPECT_EQ(h.observer.last_error.code, EIO);
  EXPECT_TRUE(h.log->failed());
  EXPECT_EQ(h.log->written_end().offset, 1);
  h.io.fs.write_error = 0;
  EXPECT_EQ(h.append({}).error, ErrorCode::kKafkaStorageError);
  h.settle();
  EXPECT_EQ(h.observer.failures, 1);
  EXPECT_EQ(std::filesystem::file_size(h.partition("00000000000000000000.log")), make_batch({}).size());
  EXPECT_EQ(h.read_bytes(0, 1000).size(), make_batch({}).size()) << "what was written is still read";
  h.crash();
  h.start();
  EXPECT_EQ(h.log->next_offset(), 1);
}

TEST(Log, FailureInARollIsToldAtTheTurnsEnd) {
  LogConfig config;
  config.segment_bytes = 400;
  Harness h(config);
  h.append({.value_bytes = 200});
  h.settle();
  h.io.fs.write_error = EIO;
  h.io.fs.fail_suffix = ".snapshot";
  EXPECT_EQ(h.append({.value_bytes = 200}).error, ErrorCode::kKafkaStorageError);
  EXPECT_EQ(h.observer.failures, 0);
  h.turn();
  EXPECT_EQ(h.observer.failures, 1);
}

TEST(Log, AppendFromTheObserverIsWrittenInTheSameTurn) {
  Harness h;
  h.observer.when_written = [&] {
    if (h.observer.written == 1) h.append({});
  };
  h.append({});
  h.turn();
  EXPECT_EQ(h.observer.written, 2);
  EXPECT_EQ(h.log->written_end().offset, 2);
}

TEST(Log, IdleDescriptorsAreClosedAndPinnedOnesStay) {
  Harness h;
  h.append({});
  h.settle();
  int without = h.io.fs.open_files;
  auto slice = h.log->read(0, 1000, h.log->written_end(), true);
  ASSERT_TRUE(slice.has_value());
  for (int i = 0; i < 5; ++i) {
    h.io.time_ns += 30'000'000'000;
    h.turn();
  }
  EXPECT_EQ(h.io.fs.open_files, without) << "pinned";
  slice->pin.reset();
  for (int i = 0; i < 5; ++i) {
    h.io.time_ns += 30'000'000'000;
    h.turn();
  }
  EXPECT_EQ(h.io.fs.open_files, without - 1);
  EXPECT_EQ(h.read_bytes(0, 1000).size(), make_batch({}).size());
}

}  // namespace
}  // namespace pelton::storage
