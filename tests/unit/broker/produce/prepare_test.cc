#include "broker/produce/prepare.h"

#include <gtest/gtest.h>
#include <time.h>

#include <string>
#include <vector>

#include "proto/batch_builder.h"
#include "proto/record_scan.h"

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::Codec;
using proto::ErrorCode;
using Buffer = std::vector<uint8_t>;

constexpr int64_t kNow = 1'800'000'000'000;
constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

Buffer make(Codec codec, int32_t count = 20) {
  proto::BatchBuilder builder({.codec = codec, .producer_id = 7, .producer_epoch = 2, .base_sequence = 40});
  proto::RecordHeader header{as_bytes("h"), as_bytes("x")};
  for (int32_t i = 0; i < count; ++i)
    builder.append(kNow - 100 + i, as_bytes("key"), as_bytes("value " + std::to_string(i)), {&header, 1});
  Buffer out;
  EXPECT_TRUE(builder.build(out));
  return out;
}

// Records of a batch as text.
std::vector<std::string> records_of(Bytes bytes) {
  BatchView batch(bytes);
  Buffer plain;
  EXPECT_TRUE(proto::decompress(batch.codec(), batch.records_bytes(), 1 << 24, plain));
  proto::RecordIterator records(plain, batch.count());
  proto::RecordView record;
  std::vector<std::string> texts;
  while (records.next(record)) {
    texts.push_back(std::to_string(record.offset_delta) + "@" + std::to_string(batch.timestamp_of(record)) + " " +
                    std::string(as_text(record.key.value_or(Bytes()))) + "=" +
                    std::string(as_text(record.value.value_or(Bytes()))) + " " +
                    std::to_string(record.header_count));
  }
  EXPECT_TRUE(records.status());
  return texts;
}

PreparedBatch prepare_with(Buffer& batch, const storage::LogConfig& config, const PrepareLimits& limits) {
  return prepare(batch, BatchRules::of(config, kNow), limits, nullptr);
}
PreparedBatch prepare_with(Buffer& batch, const storage::LogConfig& config = {}) {
  return prepare_with(batch, config, {.max_output = output_limit(batch.size())});
}

TEST(Prepare, WhatIsRightStaysAsItIs) {
  for (Codec codec : kCodecs) {
    Buffer batch = make(codec);
    const Buffer before = batch;
    PreparedBatch prepared = prepare_with(batch);
    EXPECT_EQ(prepared.error, ErrorCode::kNone) << to_string(codec);
    EXPECT_EQ(batch, before);
    EXPECT_EQ(prepared.batch.data(), batch.data());
    EXPECT_TRUE(prepared.rebuilt.empty());
  }
}

TEST(Prepare, AWrongLargestTimestampIsSet) {
  for (int64_t said : {int64_t{-1}, kNow + 5, int64_t{0}}) {
    for (Codec codec : kCodecs) {
      Buffer batch = make(codec);
      const Buffer right = batch;
      store_be<int64_t>(batch.data() + 35, said);
      store_be<uint32_t>(batch.data() + 17, BatchView(batch).computed_crc());
      EXPECT_EQ(prepare_with(batch).error, ErrorCode::kNone);
      EXPECT_EQ(batch, right);
    }
  }
}

TEST(Prepare, TheBrokersClockIsLeftToTheLog) {
  Buffer batch = make(Codec::kNone);
  store_be<int64_t>(batch.data() + 35, -1);
  store_be<uint32_t>(batch.data() + 17, BatchView(batch).computed_crc());
  const Buffer before = batch;
  EXPECT_EQ(prepare_with(batch, {.log_append_time = true}).error, ErrorCode::kNone);
  EXPECT_EQ(batch, before);
}

TEST(Prepare, AnyCodecBecomesTheTopics) {
  for (Codec from : kCodecs) {
    for (Codec to : kCodecs) {
      Buffer batch = make(from);
      std::vector<std::string> expected = records_of(batch);
      PreparedBatch prepared = prepare_with(batch, {.compression = to});
      ASSERT_EQ(prepared.error, ErrorCode::kNone) << to_string(from) << " " << to_string(to);
      EXPECT_EQ(prepared.rebuilt.empty(), from == to);
      auto view = proto::validate(prepared.batch);
      ASSERT_TRUE(view) << to_string(view.error());
      EXPECT_EQ(view->codec(), to);
      EXPECT_EQ(view->producer_id(), 7);
      EXPECT_EQ(view->producer_epoch(), 2);
      EXPECT_EQ(view->base_sequence(), 40);
      EXPECT_EQ(view->max_timestamp(), kNow - 81);
      EXPECT_EQ(records_of(prepared.batch), expected);
    }
  }
}

TEST(Prepare, LevelsAreTheTopics) {
  Buffer batch = make(Codec::kNone, 2000);
  auto size_at = [&](int32_t level) {
    return prepare_with(batch, {.compression = Codec::kGzip, .compression_gzip_level = level}).batch.size();
  };
  EXPECT_LT(size_at(9), size_at(1));
}

TEST(Prepare, TooLargeAfterItWasWrittenAnew) {
  Buffer batch = make(Codec::kZstd, 500);
  auto compressed = static_cast<int32_t>(batch.size());
  PreparedBatch prepared =
      prepare_with(batch, {.max_message_bytes = compressed + 10, .compression = Codec::kNone});
  EXPECT_EQ(prepared.error, ErrorCode::kMessageTooLarge);
  EXPECT_TRUE(prepared.rebuilt.empty());
  // Exactly so large is not too large.
  size_t plain = prepare_with(batch, {.compression = Codec::kNone}).batch.size();
  for (int less : {0, 1}) {
    storage::LogConfig config{.max_message_bytes = static_cast<int32_t>(plain) - less,
                              .compression = Codec::kNone};
    EXPECT_EQ(prepare_with(batch, config).error, less == 0 ? ErrorCode::kNone : ErrorCode::kMessageTooLarge);
  }
}

Buffer with_wrong_offsets(Codec codec) {
  Buffer plain = make(Codec::kNone, 3);
  Buffer records;
  for (int32_t delta : {0, 0, 7})
    proto::append_record({.timestamp_delta = delta, .offset_delta = delta, .key = std::nullopt,
                          .value = as_bytes("v"), .headers = {}}, records);
  Buffer batch(plain.begin(), plain.begin() + proto::kBatchHeaderSize);
  EXPECT_TRUE(proto::compress(codec, records, batch));
  proto::complete_rebuilt(batch, codec, kNow - 100, kNow - 93);
  return batch;
}

TEST(Prepare, WrongOffsetsAreNumberedAnewWithTheRest) {
  std::vector<std::string> expected = {"0@1799999999900 =v 0", "1@1799999999900 =v 0", "2@1799999999907 =v 0"};
  for (Codec from : kCodecs) {
    for (Codec to : kCodecs) {
      Buffer batch = with_wrong_offsets(from);
      PreparedBatch prepared = prepare_with(batch, {.compression = to});
      EXPECT_EQ(prepared.error, from == to ? ErrorCode::kInvalidRecord : ErrorCode::kNone);
      if (from == to) continue;
      EXPECT_TRUE(proto::validate(prepared.batch));
      EXPECT_EQ(records_of(prepared.batch), expected);
    }
  }
}

TEST(Prepare, WrittenAnewTheRecordsAreWrittenAsBrokersDo) {
  Buffer source = make(Codec::kNone, 3);
  // The same times from another base, attributes, a time type that the client should not set.
  Buffer records;
  for (int32_t i = 0; i < 3; ++i)
    proto::append_record({.timestamp_delta = 50 + i, .offset_delta = i, .key = std::nullopt,
                          .value = std::nullopt, .headers = {}}, records);
  records[1] = 5;
  Buffer batch(source.begin(), source.begin() + proto::kBatchHeaderSize);
  batch.insert(batch.end(), records.begin(), records.end());
  proto::complete_rebuilt(batch, Codec::kNone, kNow - 150, kNow - 98);
  PreparedBatch prepared = prepare_with(batch, {.compression = Codec::kGzip});
  ASSERT_EQ(prepared.error, ErrorCode::kNone);
  BatchView view{Bytes(prepared.batch)};
  EXPECT_EQ(view.base_timestamp(), kNow - 100);
  EXPECT_EQ(view.max_timestamp(), kNow - 98);
  Buffer plain;
  ASSERT_TRUE(proto::decompress(Codec::kGzip, view.records_bytes(), 1000, plain));
  EXPECT_EQ(plain[1], 0) << "attributes";
  store_be<int16_t>(batch.data() + 21, proto::kAttributeLogAppendTime);
  store_be<uint32_t>(batch.data() + 17, BatchView(batch).computed_crc());
  prepared = prepare_with(batch, {.compression = Codec::kGzip});
  ASSERT_EQ(prepared.error, ErrorCode::kNone);
  for (const std::string& text : records_of(prepared.batch))
    EXPECT_EQ(text.substr(1), "@" + std::to_string(kNow - 98) + " = 0");
}

TEST(Prepare, WhatAShardMayNotDoItselfIsLeftUndone) {
  Buffer plain = make(Codec::kNone, 2000), compressed = make(Codec::kZstd, 2000);
  PrepareLimits small{.max_output = 1000, .may_rebuild = false, .final = false};
  EXPECT_FALSE(prepare_with(plain, {}, small).needs_more) << "plain records are not decompressed";
  EXPECT_TRUE(prepare_with(plain, {.compression = Codec::kLz4}, small).needs_more);
  EXPECT_TRUE(prepare_with(compressed, {}, small).needs_more);
  small.final = true;
  PreparedBatch prepared = prepare_with(compressed, {}, small);
  EXPECT_FALSE(prepared.needs_more);
  EXPECT_EQ(prepared.error, ErrorCode::kInvalidRecord);
}

double cpu_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// A batch of one record of zeros that says it has so many, as small as its codec can make it.
Buffer bomb(Codec codec, size_t plain_size) {
  Buffer record;
  Buffer zeros(plain_size, 0);
  proto::append_record({.offset_delta = 0, .key = std::nullopt, .value = Bytes(zeros), .headers = {}}, record);
  Buffer batch = make(Codec::kNone, 1);
  batch.resize(proto::kBatchHeaderSize);
  proto::CompressStream out(codec, {.gzip = 9, .lz4 = 12, .zstd = 19}, batch, SIZE_MAX);
  EXPECT_TRUE(out.write(record) && out.finish());
  proto::complete_rebuilt(batch, codec, kNow - 100, kNow - 100);
  return batch;
}

// Snappy is left out: its blocks grow 22 times at most.
TEST(Prepare, BombsAreRefused) {
  for (Codec codec : {Codec::kGzip, Codec::kLz4, Codec::kZstd}) {
    Buffer batch = bomb(codec, 4 * output_limit(0));
    ASSERT_LT(batch.size(), 1'000'000u);
    double before = cpu_ms();
    PreparedBatch prepared = prepare_with(batch);
    double spent = cpu_ms() - before;
    EXPECT_EQ(prepared.error, ErrorCode::kInvalidRecord);
    // Loose, as this runs in debug builds and under sanitizers; bench/micro has the figure.
    EXPECT_LT(spent, 1000) << to_string(codec);
  }
}

}  // namespace
}  // namespace pelton::broker
