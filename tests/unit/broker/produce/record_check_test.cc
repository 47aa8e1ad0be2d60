#include "broker/produce/record_check.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "proto/batch_builder.h"

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::Codec;
using proto::ErrorCode;
using Buffer = std::vector<uint8_t>;

constexpr int64_t kNow = 1'800'000'000'000;
constexpr size_t kNoLimit = 1 << 30;

struct Given {
  int64_t timestamp = kNow;
  std::optional<std::string> key = "k";
  std::string value = "v";
};

Buffer make(const std::vector<Given>& records, Codec codec = Codec::kNone) {
  proto::BatchBuilder builder({.codec = codec});
  for (const Given& record : records) {
    std::optional<Bytes> key;
    if (record.key) key = as_bytes(*record.key);
    builder.append(record.timestamp, key, as_bytes(record.value));
  }
  Buffer out;
  EXPECT_TRUE(builder.build(out));
  return out;
}

// The same with other bytes at some place and a right CRC.
template <class T>
Buffer with(Buffer batch, size_t at, T value) {
  store_be<T>(batch.data() + at, value);
  store_be<uint32_t>(batch.data() + 17, BatchView(batch).computed_crc());
  return batch;
}
Buffer with_log_append_time(Buffer batch, int64_t max_timestamp) {
  batch = with<int64_t>(std::move(batch), 35, max_timestamp);
  auto attributes = static_cast<int16_t>(BatchView(batch).attributes() | proto::kAttributeLogAppendTime);
  return with<int16_t>(std::move(batch), 21, attributes);
}

RecordFindings findings(const Buffer& batch, const storage::LogConfig& config = {}, int64_t now = kNow,
                        bool offsets_must_follow = true) {
  RecordRules rules = RecordRules::of(config, now);
  rules.offsets_must_follow = offsets_must_follow;
  return check_records(BatchView(batch), rules, kNoLimit, nullptr);
}

class EveryCodec : public testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(RecordCheck, EveryCodec,
                         testing::Values(Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd),
                         [](const auto& codec) { return std::string(to_string(codec.param)); });

TEST_P(EveryCodec, SoundRecordsTellTheirLargestTimestamp) {
  RecordFindings found = findings(make({{kNow - 5}, {kNow + 7}, {kNow}}, GetParam()));
  EXPECT_EQ(found.error, ErrorCode::kNone);
  EXPECT_EQ(found.max_timestamp, kNow + 7);
  EXPECT_TRUE(found.canonical);
  EXPECT_TRUE(found.errors.empty());
  EXPECT_EQ(found.plain_bytes, GetParam() == Codec::kNone ? 0u : 3u * 8);
}

TEST_P(EveryCodec, KeylessRecordsOfACompactedTopicAreNamed) {
  storage::LogConfig compacted{.compact_policy = true};
  Buffer batch = make({{kNow}, {kNow, std::nullopt}, {kNow, ""}, {kNow, std::nullopt}}, GetParam());
  RecordFindings found = findings(batch, compacted);
  EXPECT_EQ(found.error, ErrorCode::kInvalidRecord);
  EXPECT_EQ(found.errors, (std::vector<RecordError>{{1, RecordFault::kNoKey, kNow},
                                                    {3, RecordFault::kNoKey, kNow}}));
  EXPECT_FALSE(found.why.empty());
  EXPECT_EQ(findings(batch).error, ErrorCode::kNone);
}

TEST_P(EveryCodec, TimesOutsideTheBoundsAreNamed) {
  storage::LogConfig config{.timestamp_before_max_ms = 1000, .timestamp_after_max_ms = 100};
  RecordFindings found =
      findings(make({{kNow - 1001}, {kNow - 1000}, {kNow + 100}, {kNow + 101}}, GetParam()), config);
  EXPECT_EQ(found.error, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(found.errors, (std::vector<RecordError>{{0, RecordFault::kTime, kNow - 1001},
                                                    {3, RecordFault::kTime, kNow + 101}}));
}

TEST(RecordCheck, BoundsReachToTheEndsOfTime) {
  constexpr int64_t kForever = INT64_MAX;
  storage::LogConfig open{.timestamp_before_max_ms = kForever, .timestamp_after_max_ms = kForever};
  for (int64_t timestamp : {int64_t{-2}, int64_t{0}, int64_t{1}, INT64_MAX, kNow}) {
    EXPECT_EQ(findings(make({{timestamp}}), open).error, ErrorCode::kNone) << timestamp;
    EXPECT_EQ(findings(make({{timestamp}}), open).max_timestamp, std::max(timestamp, int64_t{-1}));
  }
  EXPECT_EQ(findings(make({{INT64_MAX}})).error, ErrorCode::kInvalidTimestamp);
  // As in Apache Kafka, whose difference wraps.
  EXPECT_EQ(findings(make({{INT64_MIN}}), open).error, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(findings(make({{INT64_MIN + kNow}}), open).error, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(findings(make({{INT64_MIN + kNow + 1}}), open).error, ErrorCode::kNone);
}

TEST(RecordCheck, RecordsWithoutATimeHaveNoBounds) {
  storage::LogConfig config{.timestamp_before_max_ms = 1000, .timestamp_after_max_ms = 100};
  RecordFindings found = findings(make({{-1}, {-1}}), config);
  EXPECT_EQ(found.error, ErrorCode::kNone);
  EXPECT_EQ(found.max_timestamp, proto::kNoTimestamp);
  EXPECT_EQ(findings(make({{-2}}), config).error, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(findings(make({{-2}})).max_timestamp, proto::kNoTimestamp);
}

// Records with and without a time in one batch, and deltas that wrap, as readers add them.
TEST_P(EveryCodec, OddTimestamps) {
  EXPECT_EQ(findings(make({{-1}, {kNow}, {-1}}, GetParam())).max_timestamp, kNow);
  EXPECT_EQ(findings(make({{-1}, {-7}}, GetParam())).max_timestamp, -1);
  storage::LogConfig config{.timestamp_before_max_ms = 1000};
  RecordFindings found = findings(make({{-1}, {-7}, {kNow}}, GetParam()), config);
  EXPECT_EQ(found.errors, (std::vector<RecordError>{{1, RecordFault::kTime, -7}}));
  Buffer wraps = with<int64_t>(make({{5}, {kNow}}, GetParam()), 27, INT64_MAX);
  EXPECT_EQ(findings(wraps, config).errors.size(), 2u);
}

TEST(RecordCheck, OneTimestampErrorMakesTheBatchsError) {
  storage::LogConfig config{.compact_policy = true, .timestamp_after_max_ms = 100};
  RecordFindings found = findings(make({{kNow, std::nullopt}, {kNow + 500}}), config);
  EXPECT_EQ(found.error, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(found.errors.size(), 2u);
  EXPECT_EQ(found.errors[0].fault, RecordFault::kNoKey);
}

TEST(RecordCheck, TheBrokersClockMakesTheRecordsTimesMeaningless) {
  storage::LogConfig config{.log_append_time = true, .timestamp_before_max_ms = 1, .timestamp_after_max_ms = 1};
  EXPECT_EQ(findings(make({{5}, {kNow * 2}}), config).error, ErrorCode::kNone);
  RecordFindings found = findings(with_log_append_time(make({{5}, {6}}), kNow), config);
  EXPECT_EQ(found.error, ErrorCode::kInvalidTimestamp);
  ASSERT_EQ(found.errors.size(), 2u);
  EXPECT_EQ(found.errors[1].fault, RecordFault::kTimeType);
}

TEST(RecordCheck, AProducersLogAppendTimeIsTheTimeOfAllItsRecords) {
  RecordFindings found = findings(with_log_append_time(make({{5}, {6}}), kNow - 3));
  EXPECT_EQ(found.error, ErrorCode::kNone);
  EXPECT_EQ(found.max_timestamp, kNow - 3);
  EXPECT_EQ(findings(with_log_append_time(make({{5}}), -1)).error, ErrorCode::kInvalidTimestamp);
  storage::LogConfig config{.timestamp_before_max_ms = 1000};
  EXPECT_EQ(findings(with_log_append_time(make({{kNow}}), kNow - 2000), config).errors[0].fault,
            RecordFault::kTime);
}

Buffer with_offsets(std::vector<int32_t> deltas, Codec codec) {
  proto::BatchBuilder builder;
  for (size_t i = 0; i < deltas.size(); ++i) builder.append(kNow, std::nullopt, as_bytes("v"));
  Buffer plain;
  EXPECT_TRUE(builder.build(plain));
  Buffer records;
  for (int32_t delta : deltas)
    proto::append_record({.offset_delta = delta, .key = std::nullopt, .value = as_bytes("v"), .headers = {}},
                         records);
  Buffer batch(plain.begin(), plain.begin() + proto::kBatchHeaderSize);
  EXPECT_TRUE(proto::compress(codec, records, batch));
  proto::complete_rebuilt(batch, codec, kNow, kNow);
  return batch;
}

TEST_P(EveryCodec, OffsetsThatDoNotFollow) {
  Buffer batch = with_offsets({0, 2, 2, -1}, GetParam());
  RecordFindings found = findings(batch);
  EXPECT_EQ(found.error, ErrorCode::kInvalidRecord);
  EXPECT_EQ(found.errors, (std::vector<RecordError>{{1, RecordFault::kOffsetDelta, kNow},
                                                    {3, RecordFault::kOffsetDelta, kNow}}));
  found = findings(batch, {}, kNow, /*offsets_must_follow=*/false);
  EXPECT_EQ(found.error, ErrorCode::kNone);
  EXPECT_FALSE(found.canonical);
}

TEST_P(EveryCodec, RecordsThatCannotBeReadNameNoRecord) {
  Buffer batch = make({{kNow}, {kNow}}, GetParam());
  for (int32_t count : {1, 3}) {
    RecordFindings found = findings(with<int32_t>(batch, 57, count));
    EXPECT_EQ(found.error, ErrorCode::kInvalidRecord) << count;
    EXPECT_TRUE(found.errors.empty());
    EXPECT_FALSE(found.why.empty());
  }
}

TEST(RecordCheck, DamagedStreamsAreRefused) {
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    Buffer batch = make({{kNow}, {kNow}}, Codec::kNone);
    auto attributes = static_cast<int16_t>(codec);
    RecordFindings found = findings(with<int16_t>(batch, 21, attributes));
    EXPECT_EQ(found.error, ErrorCode::kInvalidRecord) << to_string(codec);
    EXPECT_FALSE(found.too_large);
  }
}

TEST(RecordCheck, OutputIsBounded) {
  Buffer batch = make({{kNow, "k", std::string(100'000, 'x')}}, Codec::kZstd);
  RecordRules rules = RecordRules::of({}, kNow);
  EXPECT_EQ(check_records(BatchView(batch), rules, 200'000, nullptr).error, ErrorCode::kNone);
  RecordFindings found = check_records(BatchView(batch), rules, 50'000, nullptr);
  EXPECT_EQ(found.error, ErrorCode::kInvalidRecord);
  EXPECT_TRUE(found.too_large);
}

TEST(RecordCheck, LargeRecordsOfCompressedBatchesCanBeForbidden) {
  storage::LogConfig config{.max_decompressed_message_bytes = 1000};
  std::vector<Given> records = {{kNow, "k", std::string(2000, 'x')}};
  EXPECT_EQ(findings(make(records, Codec::kLz4), config).error, ErrorCode::kInvalidRecord);
  EXPECT_EQ(findings(make(records, Codec::kNone), config).error, ErrorCode::kNone);
}

TEST(RecordCheck, SoManyErrorsAreListed) {
  std::vector<Given> records(kMostRecordErrors + 500, {kNow, std::nullopt});
  RecordFindings found = findings(make(records), {.compact_policy = true});
  EXPECT_EQ(found.errors.size(), kMostRecordErrors);
}

TEST(RecordCheck, EveryFaultHasItsSentence) {
  RecordRules rules = RecordRules::of({.timestamp_before_max_ms = 10, .timestamp_after_max_ms = 20}, 1000);
  EXPECT_EQ(describe({0, RecordFault::kTime, 5}, rules),
            "the timestamp 5 is outside of what the topic takes now, 990 to 1020");
  for (RecordFault fault : {RecordFault::kNoKey, RecordFault::kTimeType, RecordFault::kOffsetDelta})
    EXPECT_GT(describe({0, fault, 0}, rules).size(), 10u);
}

}  // namespace
}  // namespace pelton::broker
