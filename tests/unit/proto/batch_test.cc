#include "proto/batch.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "proto/batch_builder.h"
#include "proto/crc32c.h"
#include "proto/record_scan.h"

namespace pelton::proto {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr size_t kNoLimit = 1 << 30;
constexpr int64_t kTimestamp = 1'700'000'000'000;

Buffer build(BatchOptions options, int32_t count) {
  BatchBuilder builder(options);
  for (int32_t i = 0; i < count; ++i) {
    std::string value = "value " + std::to_string(i);
    builder.append(kTimestamp + i * 10, as_bytes("key"), as_bytes(value));
  }
  Buffer out;
  EXPECT_TRUE(builder.build(out));
  return out;
}

template <class T>
void put(Buffer& batch, size_t at, T value) {
  store_be<T>(batch.data() + at, value);
}
// A changed batch with a right CRC: the other checks must find the change.
void seal(Buffer& batch) { put<uint32_t>(batch, 17, crc32c(Bytes(batch).subspan(21))); }

std::optional<BatchError> error_of(const Buffer& batch, ValidateOptions options = {}) {
  auto result = validate(batch, options);
  return result ? std::nullopt : std::optional(result.error());
}

constexpr ValidateOptions kLog{.origin = BatchOrigin::kLog};

TEST(Batch, HeaderFieldsByName) {
  Buffer bytes(kBatchHeaderSize);
  put<int64_t>(bytes, 0, 0x0102030405060708);
  put<int32_t>(bytes, 8, 49);
  put<int32_t>(bytes, 12, 0x11121314);
  put<int8_t>(bytes, 16, 2);
  put<uint32_t>(bytes, 17, 0xf1f2f3f4);
  put<int16_t>(bytes, 21, 0x005c);
  put<int32_t>(bytes, 23, 0x21222324);
  put<int64_t>(bytes, 27, 0x3132333435363738);
  put<int64_t>(bytes, 35, 0x4142434445464748);
  put<int64_t>(bytes, 43, 0x5152535455565758);
  put<int16_t>(bytes, 51, 0x6162);
  put<int32_t>(bytes, 53, 0x71727374);
  put<int32_t>(bytes, 57, 0x01020304);
  BatchView batch(bytes);
  EXPECT_EQ(batch.base_offset(), 0x0102030405060708);
  EXPECT_EQ(batch.batch_length(), 49);
  EXPECT_EQ(batch.size(), 61u);
  EXPECT_EQ(batch.partition_leader_epoch(), 0x11121314);
  EXPECT_EQ(batch.magic(), 2);
  EXPECT_EQ(batch.crc(), 0xf1f2f3f4u);
  EXPECT_EQ(batch.codec(), Codec::kZstd);
  EXPECT_TRUE(batch.log_append_time());
  EXPECT_TRUE(batch.transactional());
  EXPECT_FALSE(batch.control());
  EXPECT_TRUE(batch.has_delete_horizon());
  EXPECT_EQ(batch.last_offset_delta(), 0x21222324);
  EXPECT_EQ(batch.last_offset(), 0x0102030405060708 + 0x21222324);
  EXPECT_EQ(batch.base_timestamp(), 0x3132333435363738);
  EXPECT_EQ(batch.max_timestamp(), 0x4142434445464748);
  EXPECT_EQ(batch.producer_id(), 0x5152535455565758);
  EXPECT_EQ(batch.producer_epoch(), 0x6162);
  EXPECT_EQ(batch.base_sequence(), 0x71727374);
  EXPECT_EQ(batch.count(), 0x01020304);
}

TEST(Batch, BuiltBatchesAreSound) {
  for (Codec codec : {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    Buffer bytes = build({.codec = codec, .producer_id = 9, .producer_epoch = 1, .base_sequence = 5}, 10);
    auto batch = validate(bytes);
    ASSERT_TRUE(batch) << to_string(batch.error());
    EXPECT_EQ(batch->codec(), codec);
    EXPECT_EQ(batch->count(), 10);
    EXPECT_EQ(batch->last_offset_delta(), 9);
    EXPECT_EQ(batch->last_sequence(), 14);
    EXPECT_EQ(batch->base_timestamp(), kTimestamp);
    EXPECT_EQ(batch->max_timestamp(), kTimestamp + 90);
    EXPECT_TRUE(check_records(*batch, BatchOrigin::kClient, kNoLimit));
  }
}

TEST(Batch, RecordsComeBack) {
  Buffer bytes = build({.base_offset = 500}, 3);
  BatchView batch(bytes);
  RecordIterator records = batch.records();
  RecordView record;
  for (int32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(records.next(record));
    EXPECT_EQ(batch.offset_of(record), 500 + i);
    EXPECT_EQ(batch.timestamp_of(record), kTimestamp + i * 10);
    EXPECT_EQ(as_text(*record.value), "value " + std::to_string(i));
  }
  EXPECT_FALSE(records.next(record));
  EXPECT_TRUE(records.status());
}

TEST(Batch, HostileLengths) {
  const Buffer good = build({}, 2);
  auto right = static_cast<int32_t>(good.size() - 12);
  auto with_length = [&](int32_t length) {
    Buffer batch = good;
    put<int32_t>(batch, 8, length);
    return error_of(batch);
  };
  EXPECT_EQ(with_length(right), std::nullopt);
  for (int32_t length : {-2, -1, 0, 1, 13, 14, 48, INT32_MIN})
    EXPECT_EQ(with_length(length), BatchError::kBadLength) << length;
  for (int32_t length : {49, right - 1, right + 1, INT32_MAX})
    EXPECT_EQ(with_length(length), BatchError::kLengthMismatch) << length;
}

TEST(Batch, TruncationAtEachByte) {
  const Buffer good = build({}, 2);
  for (size_t cut = 0; cut < good.size(); ++cut) {
    Buffer part(good.begin(), good.begin() + static_cast<ptrdiff_t>(cut));
    EXPECT_EQ(error_of(part), cut < 17 ? BatchError::kTooShort : BatchError::kLengthMismatch) << cut;
    // The same with a length that agrees.
    if (cut < kBatchHeaderSize) continue;
    put<int32_t>(part, 8, static_cast<int32_t>(cut - 12));
    EXPECT_EQ(error_of(part), BatchError::kCrcMismatch);
    seal(part);
    auto batch = validate(part);
    ASSERT_TRUE(batch);
    EXPECT_FALSE(check_records(*batch, BatchOrigin::kClient, kNoLimit)) << cut;
  }
  Buffer longer = good;
  longer.push_back(0);
  EXPECT_EQ(error_of(longer), BatchError::kLengthMismatch);
}

TEST(Batch, EachHeaderErrorHasItsName) {
  struct Case {
    BatchError error;
    std::function<void(Buffer&)> change;
    std::optional<BatchError> from_log;
  };
  using enum BatchError;
  const Case cases[] = {
      {kOldMagic, [](Buffer& b) { put<int8_t>(b, 16, 0); }, kOldMagic},
      {kOldMagic, [](Buffer& b) { put<int8_t>(b, 16, 1); }, kOldMagic},
      {kBadMagic, [](Buffer& b) { put<int8_t>(b, 16, 3); }, kBadMagic},
      {kBadMagic, [](Buffer& b) { put<int8_t>(b, 16, -1); }, kBadMagic},
      {kBaseOffsetNotZero, [](Buffer& b) { put<int64_t>(b, 0, 1); }, std::nullopt},
      {kUnknownCodec, [](Buffer& b) { put<int16_t>(b, 21, 5); }, kUnknownCodec},
      {kUnknownCodec, [](Buffer& b) { put<int16_t>(b, 21, 7); }, kUnknownCodec},
      {kNegativeLastOffsetDelta, [](Buffer& b) { put<int32_t>(b, 23, -1); }, kNegativeLastOffsetDelta},
      {kNegativeLastOffsetDelta, [](Buffer& b) { put<int32_t>(b, 23, INT32_MIN); },
       kNegativeLastOffsetDelta},
      {kBadCount, [](Buffer& b) { put<int32_t>(b, 57, 0); }, std::nullopt},
      {kBadCount, [](Buffer& b) { put<int32_t>(b, 57, -1); }, kBadCount},
      {kCountMismatch, [](Buffer& b) { put<int32_t>(b, 57, 2); }, std::nullopt},
      {kCountMismatch, [](Buffer& b) { put<int32_t>(b, 57, 4); }, kCountMismatch},
      {kCountMismatch, [](Buffer& b) { put<int32_t>(b, 57, INT32_MAX); }, kCountMismatch},
      {kCountMismatch, [](Buffer& b) { put<int32_t>(b, 23, INT32_MAX); }, std::nullopt},
      {kControlFromClient, [](Buffer& b) { put<int16_t>(b, 21, 0x20); }, std::nullopt},
      {kTransactionalWithoutProducerId, [](Buffer& b) {
         put<int16_t>(b, 21, 0x10);
         put<int64_t>(b, 43, -1);
       }, kTransactionalWithoutProducerId},
      {kBadProducerEpoch, [](Buffer& b) { put<int16_t>(b, 51, -1); }, kBadProducerEpoch},
      {kBadSequence, [](Buffer& b) { put<int32_t>(b, 53, -1); }, std::nullopt},
  };
  const Buffer good = build({.producer_id = 1, .producer_epoch = 0, .base_sequence = 0}, 3);
  ASSERT_EQ(error_of(good), std::nullopt);
  for (const Case& one : cases) {
    Buffer batch = good;
    one.change(batch);
    seal(batch);
    EXPECT_EQ(error_of(batch), one.error) << to_string(one.error);
    EXPECT_EQ(error_of(batch, kLog), one.from_log) << to_string(one.error);
  }
}

TEST(Batch, CrcCoversEveryByteFromTheAttributesOn) {
  Buffer batch = build({}, 3);
  for (size_t at = 17; at < batch.size(); ++at) {
    batch[at] ^= 0x40;
    EXPECT_EQ(error_of(batch), BatchError::kCrcMismatch) << at;
    EXPECT_NE(error_of(batch, {.check_crc = false}), BatchError::kCrcMismatch) << at;
    batch[at] ^= 0x40;
  }
  EXPECT_EQ(error_of(batch), std::nullopt);
}

TEST(Batch, PatchesOutsideTheCrc) {
  Buffer batch = build({}, 3);
  uint32_t crc = BatchView(batch).crc();
  set_base_offset(batch, 1'000'000'000'007);
  set_partition_leader_epoch(batch, 12);
  EXPECT_EQ(error_of(batch, kLog), std::nullopt);
  BatchView view(batch);
  EXPECT_EQ(view.base_offset(), 1'000'000'000'007);
  EXPECT_EQ(view.last_offset(), 1'000'000'000'009);
  EXPECT_EQ(view.partition_leader_epoch(), 12);
  EXPECT_EQ(view.crc(), crc);
}

TEST(Batch, LogAppendTime) {
  Buffer batch = build({.codec = Codec::kLz4}, 3);
  set_max_timestamp_and_log_append_time(batch, 42);
  EXPECT_EQ(error_of(batch), std::nullopt);
  BatchView view(batch);
  EXPECT_TRUE(view.log_append_time());
  EXPECT_EQ(view.codec(), Codec::kLz4);
  EXPECT_EQ(view.max_timestamp(), 42);
  EXPECT_EQ(view.base_timestamp(), kTimestamp);
  EXPECT_EQ(view.timestamp_at(7), 42);
}

TEST(Batch, CreateTime) {
  Buffer batch = build({.codec = Codec::kLz4, .producer_id = 1, .producer_epoch = 0, .base_sequence = 0,
                        .transactional = true}, 3);
  put<int16_t>(batch, 21, static_cast<int16_t>(0x0480 | kAttributeLogAppendTime | BatchView(batch).attributes()));
  seal(batch);
  set_max_timestamp_and_create_time(batch, 42);
  EXPECT_EQ(error_of(batch), std::nullopt);
  BatchView view(batch);
  EXPECT_EQ(view.attributes(), kAttributeTransactional | static_cast<int>(Codec::kLz4));
  EXPECT_EQ(view.max_timestamp(), 42);
}

TEST(Batch, RebuiltBatchesAreSound) {
  Buffer source = build({.producer_id = 5, .producer_epoch = 1, .base_sequence = 3}, 4);
  BatchView plain(source);
  Buffer rebuilt(source.begin(), source.begin() + kBatchHeaderSize);
  ASSERT_TRUE(compress(Codec::kZstd, plain.records_bytes(), rebuilt));
  complete_rebuilt(rebuilt, Codec::kZstd, kTimestamp, kTimestamp + 30);
  auto batch = validate(rebuilt);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->codec(), Codec::kZstd);
  EXPECT_EQ(batch->count(), 4);
  EXPECT_EQ(batch->producer_id(), 5);
  EXPECT_TRUE(check_records(*batch, BatchOrigin::kClient, kNoLimit));
}

TEST(Batch, SequencesWrap) {
  Buffer bytes = build({.producer_id = 1, .producer_epoch = 0, .base_sequence = INT32_MAX - 1}, 4);
  EXPECT_EQ(BatchView(bytes).last_sequence(), 1);
  EXPECT_EQ(BatchView(build({}, 4)).last_sequence(), kNoSequence);
}

TEST(Batch, ExtremeFieldsDoNotOverflow) {
  Buffer bytes = build({}, 2);
  put<int64_t>(bytes, 0, std::numeric_limits<int64_t>::max());
  put<int64_t>(bytes, 27, std::numeric_limits<int64_t>::max());
  BatchView view(bytes);
  EXPECT_LT(view.next_offset(), 0);
  EXPECT_LT(view.timestamp_at(1), 0);
}

TEST(Batch, CheckRecordsFindsOffsetsThatDoNotFollow) {
  BatchBuilder builder;
  builder.append(1, std::nullopt, as_bytes("a"));
  builder.append_at(2, 1, std::nullopt, as_bytes("b"));
  Buffer out;
  ASSERT_TRUE(builder.build(out));
  EXPECT_EQ(error_of(out), BatchError::kCountMismatch);
  auto batch = validate(out, kLog);
  ASSERT_TRUE(batch);
  EXPECT_TRUE(check_records(*batch, BatchOrigin::kLog, kNoLimit));
  put<int32_t>(out, 57, 3);
  seal(out);
  EXPECT_EQ(check_records(*validate(out), BatchOrigin::kClient, kNoLimit).error(), BatchError::kBadRecords);
  // The last record's offset lies beyond the header's range.
  put<int32_t>(out, 57, 2);
  put<int32_t>(out, 23, 1);
  seal(out);
  EXPECT_FALSE(check_records(*validate(out), BatchOrigin::kLog, kNoLimit));
}

TEST(Batch, CheckRecordsIsBounded) {
  BatchBuilder builder({.codec = Codec::kZstd});
  Buffer zeros(1 << 20, 0);
  for (int i = 0; i < 20; ++i) builder.append(1, std::nullopt, Bytes(zeros));
  Buffer out;
  ASSERT_TRUE(builder.build(out));
  EXPECT_LT(out.size(), 10000u);
  EXPECT_TRUE(check_records(*validate(out), BatchOrigin::kClient, 21 << 20));
  EXPECT_FALSE(check_records(*validate(out), BatchOrigin::kClient, 19 << 20));
}

TEST(BatchIterator, WalksAndStopsAtACut) {
  Buffer range;
  std::vector<size_t> ends;
  for (int64_t offset : {10, 20, 30}) {
    Buffer one = build({.base_offset = offset, .codec = Codec::kSnappy}, 5);
    range.insert(range.end(), one.begin(), one.end());
    ends.push_back(range.size());
  }
  for (size_t cut = 0; cut <= range.size(); ++cut) {
    Buffer part(range.begin(), range.begin() + static_cast<ptrdiff_t>(cut));
    BatchIterator batches(part);
    size_t seen = 0;
    while (auto batch = batches.next()) {
      EXPECT_EQ(batch->base_offset(), static_cast<int64_t>(10 * (seen + 1)));
      EXPECT_EQ(batch->bytes().size(), batch->size());
      EXPECT_EQ(batches.position(), ends[seen++]);
    }
    EXPECT_EQ(seen, static_cast<size_t>((cut >= ends[0]) + (cut >= ends[1]) + (cut >= ends[2])));
    EXPECT_EQ(batches.partial(), seen == 0 ? cut > 0 : cut > ends[seen - 1]);
    EXPECT_FALSE(batches.error());
  }
}

TEST(BatchIterator, StopsAtWhatIsNoBatch) {
  Buffer range = build({}, 1);
  size_t first = range.size();
  Buffer second = build({}, 1);
  for (auto [at, value, error] : {std::tuple{size_t{16}, uint8_t{9}, BatchError::kBadMagic},
                                  std::tuple{size_t{16}, uint8_t{1}, BatchError::kOldMagic},
                                  std::tuple{size_t{8}, uint8_t{0x80}, BatchError::kBadLength}}) {
    Buffer all = range;
    all.insert(all.end(), second.begin(), second.end());
    all[first + at] = value;
    BatchIterator batches(all);
    EXPECT_TRUE(batches.next());
    EXPECT_FALSE(batches.next());
    EXPECT_FALSE(batches.next());
    EXPECT_EQ(batches.error(), error);
    EXPECT_EQ(batches.position(), first);
    EXPECT_TRUE(batches.partial());
  }
}

TEST(BatchBuilder, AppendsToTheCallersBuffer) {
  BatchBuilder builder;
  builder.append(5, as_bytes("k"), std::nullopt);
  Buffer out = {1, 2, 3};
  ASSERT_TRUE(builder.build(out));
  EXPECT_EQ(out.size(), 3 + builder.uncompressed_size());
  EXPECT_TRUE(validate(Bytes(out).subspan(3)));
}

TEST(BatchBuilder, MaxTimestampIsTheLargest) {
  BatchBuilder builder;
  for (int64_t timestamp : {50, 70, 60}) builder.append(timestamp, std::nullopt, std::nullopt);
  Buffer out;
  ASSERT_TRUE(builder.build(out));
  EXPECT_EQ(BatchView(out).base_timestamp(), 50);
  EXPECT_EQ(BatchView(out).max_timestamp(), 70);
}

TEST(BatchBuilder, ExtremeTimestampsComeBack) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  BatchBuilder builder;
  builder.append(kMax, std::nullopt, std::nullopt);
  builder.append(kMin, std::nullopt, std::nullopt);
  Buffer out;
  ASSERT_TRUE(builder.build(out));
  BatchView batch(out);
  RecordIterator records = batch.records();
  RecordView record;
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(batch.timestamp_of(record), kMax);
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(batch.timestamp_of(record), kMin);
}

TEST(BatchBuilder, ControlKeys) {
  const uint8_t commit[] = {0, 0, 0, 1};
  const uint8_t longer[] = {0, 1, 0, 0, 9};
  const uint8_t negative[] = {0xff, 0xff, 0, 1};
  EXPECT_EQ(control_type(commit), 1);
  EXPECT_EQ(control_type(longer), 0);
  EXPECT_EQ(control_type(negative), std::nullopt);
  EXPECT_EQ(control_type(Bytes(commit).first(3)), std::nullopt);
}

}  // namespace
}  // namespace pelton::proto
