// Batches against the bytes that Apache Kafka wrote (tests/golden/batches). Runs in the source root.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/record_scan.h"

namespace pelton::proto {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr int64_t kTimestamp = 1'700'000'000'000;
constexpr size_t kLimit = 1 << 20;

Buffer golden(const std::string& name) {
  std::ifstream file("tests/golden/batches/" + name + ".bin", std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The rules of tests/golden/java/GoldenBatches.java.
struct GoldenRecord {
  explicit GoldenRecord(int i) : timestamp(kTimestamp + i * 7 - i % 4 * 20) {
    if (i % 5 != 0) key = "key-" + std::to_string(i);
    if (i % 7 != 3) {
      auto length = static_cast<size_t>(i * i % 997);
      value.emplace();
      for (int n = 0; value->size() < length; ++n)
        *value += "value " + std::to_string(i) + "." + std::to_string(n) + " ";
      value->resize(length);
    }
    for (int n = 0; n < i % 3; ++n) {
      bool null = (i + n) % 2 == 0;
      header_keys.push_back("h" + std::to_string(n));
      header_values.push_back(null ? std::nullopt : std::optional("header " + std::to_string(i)));
    }
  }

  static std::optional<Bytes> view(const std::optional<std::string>& text) {
    return text ? std::optional(as_bytes(*text)) : std::nullopt;
  }

  void append_to(BatchBuilder& builder) const {
    std::vector<RecordHeader> headers;
    for (size_t n = 0; n < header_keys.size(); ++n)
      headers.push_back({as_bytes(header_keys[n]), view(header_values[n])});
    builder.append(timestamp, view(key), view(value), headers);
  }

  int64_t timestamp;
  std::optional<std::string> key, value;
  std::vector<std::string> header_keys;
  std::vector<std::optional<std::string>> header_values;
};

Buffer ours(BatchOptions options, int count) {
  BatchBuilder builder(options);
  for (int i = 0; i < count; ++i) GoldenRecord(i).append_to(builder);
  Buffer out;
  EXPECT_TRUE(builder.build(out));
  return out;
}

std::optional<std::string> copy(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(std::string(as_text(*bytes))) : std::nullopt;
}

void expect_records(const BatchView& batch, int count) {
  Buffer plain;
  ASSERT_TRUE(decompress(batch.codec(), batch.records_bytes(), kLimit, plain));
  RecordIterator records(plain, batch.count());
  RecordView record;
  for (int i = 0; i < count; ++i) {
    GoldenRecord want(i);
    ASSERT_TRUE(records.next(record)) << i;
    EXPECT_EQ(batch.offset_of(record), batch.base_offset() + i);
    EXPECT_EQ(batch.timestamp_of(record), want.timestamp);
    EXPECT_EQ(copy(record.key), want.key);
    EXPECT_EQ(copy(record.value), want.value);
    RecordHeaderIterator headers = record.headers();
    RecordHeader header;
    for (size_t n = 0; n < want.header_keys.size(); ++n) {
      ASSERT_TRUE(headers.next(header));
      EXPECT_EQ(as_text(header.key), want.header_keys[n]);
      EXPECT_EQ(copy(header.value), want.header_values[n]);
    }
    EXPECT_FALSE(headers.next(header));
  }
  EXPECT_FALSE(records.next(record));
  EXPECT_TRUE(records.status());
}

class GoldenCodec : public testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(Batch, GoldenCodec,
                         testing::Values(Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4,
                                         Codec::kZstd),
                         [](const auto& codec) { return std::string(to_string(codec.param)); });

TEST_P(GoldenCodec, KafkasBatchesAreRead) {
  for (auto [size, count] : {std::pair{"-small", 12}, std::pair{"-large", 200}}) {
    if (GetParam() == Codec::kNone && count == 200) continue;  // only compressed ones are kept large
    Buffer bytes = golden(std::string(to_string(GetParam())) + size);
    auto batch = validate(bytes);
    ASSERT_TRUE(batch) << to_string(batch.error());
    EXPECT_EQ(batch->codec(), GetParam());
    EXPECT_EQ(batch->count(), count);
    EXPECT_TRUE(check_records(*batch, BatchOrigin::kClient, kLimit));
    expect_records(*batch, count);
  }
}

// Whatever is not compressed has one encoding only, so our bytes are Kafka's.
TEST(BatchGolden, OurBytesAreKafkas) {
  EXPECT_EQ(ours({}, 12), golden("none-small"));
  EXPECT_EQ(ours({.base_offset = 1234567890123,
                  .partition_leader_epoch = 31,
                  .producer_id = 4242,
                  .producer_epoch = 7,
                  .base_sequence = 2147483646,
                  .transactional = true},
                 3),
            golden("transactional"));
}

TEST_P(GoldenCodec, SameHeaderWhateverTheEncoderMadeOfTheRecords) {
  Buffer theirs = golden(std::string(to_string(GetParam())) + "-small");
  Buffer mine = ours({.codec = GetParam()}, 12);
  for (size_t at = 12; at < kBatchHeaderSize; ++at) {
    bool crc = at >= 17 && at < 21;
    if (!crc) {
      EXPECT_EQ(mine[at], theirs[at]) << at;
    }
  }
}

TEST(BatchGolden, EndTransactionMarkers) {
  BatchOptions options{.base_offset = 99, .partition_leader_epoch = 5, .producer_id = 4242,
                       .producer_epoch = 7};
  Buffer commit, abort;
  build_end_transaction_marker(options, kTimestamp, ControlType::kCommit, 13, commit);
  options.base_offset = 100;
  build_end_transaction_marker(options, kTimestamp, ControlType::kAbort, 13, abort);
  EXPECT_EQ(commit, golden("commit"));
  EXPECT_EQ(abort, golden("abort"));
  Buffer bytes = golden("commit");
  EXPECT_EQ(validate(bytes).error(), BatchError::kBaseOffsetNotZero);
  auto batch = validate(bytes, {.origin = BatchOrigin::kLog});
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->control());
  EXPECT_TRUE(batch->transactional());
  RecordIterator records = batch->records();
  RecordView record;
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(control_type(*record.key), static_cast<int16_t>(ControlType::kCommit));
}

TEST(BatchGolden, LogAppendTimePatchGivesKafkasBytes) {
  Buffer mine = ours({.base_offset = 77, .partition_leader_epoch = 2}, 3);
  set_max_timestamp_and_log_append_time(mine, kTimestamp + 5);
  EXPECT_EQ(mine, golden("log-append-time"));
}

// The scan agrees with the full decoding on every golden file.
TEST(BatchGolden, ScanAgrees) {
  for (const auto& file : std::filesystem::directory_iterator("tests/golden/batches")) {
    if (file.path().extension() != ".bin") continue;
    Buffer bytes = golden(file.path().stem().string());
    BatchView batch(bytes);
    Buffer plain;
    ASSERT_TRUE(decompress(batch.codec(), batch.records_bytes(), kLimit, plain));
    RecordIterator records(plain, batch.count());
    RecordScanner scanner(batch.codec(), batch.records_bytes(), batch.count(), kLimit);
    RecordView record;
    ScannedRecord scanned;
    while (records.next(record)) {
      ASSERT_TRUE(scanner.next(scanned)) << file.path();
      EXPECT_EQ(scanned.timestamp_delta, record.timestamp_delta);
      EXPECT_EQ(scanned.offset_delta, record.offset_delta);
      EXPECT_EQ(scanned.key_size, record.key ? static_cast<int32_t>(record.key->size()) : -1);
      EXPECT_EQ(scanned.value_size, record.value ? static_cast<int32_t>(record.value->size()) : -1);
    }
    EXPECT_FALSE(scanner.next(scanned));
    EXPECT_TRUE(scanner.status()) << file.path();
  }
}

}  // namespace
}  // namespace pelton::proto
