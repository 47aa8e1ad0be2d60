#include "proto/record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "proto/record_scan.h"
#include "proto/record_walk.h"
#include "proto/varint.h"

namespace pelton::proto {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr size_t kNoLimit = 1 << 30;

template <class T>
void put(Buffer& out, T value) {
  uint8_t bytes[kMaxVarlongSize];
  uint8_t* end = put_varint(bytes, value);
  out.insert(out.end(), bytes, end);
}

template <class T>
void expect_round_trip(T value) {
  Buffer out;
  put(out, value);
  EXPECT_EQ(out.size(), varint_size(value)) << value;
  Bytes from(out);
  T back = 0;
  ASSERT_TRUE(take_varint(from, back)) << value;
  EXPECT_EQ(back, value);
  EXPECT_TRUE(from.empty());
  T read = 0;
  EXPECT_EQ(read_varint(out.data(), out.data() + out.size(), read), out.data() + out.size());
  EXPECT_EQ(read, value);
  for (size_t cut = 0; cut < out.size(); ++cut) {
    Bytes part = Bytes(out).first(cut);
    EXPECT_FALSE(take_varint(part, back));
    EXPECT_EQ(part.size(), cut);
    EXPECT_EQ(read_varint(out.data(), out.data() + cut, read), nullptr);
  }
}

TEST(Varint, RoundTripAtEveryWidth) {
  for (int shift = 0; shift < 32; ++shift)
    for (int32_t near : {-1, 0, 1}) {
      auto value = static_cast<int32_t>((uint32_t{1} << shift) + static_cast<uint32_t>(near));
      expect_round_trip(value);
      expect_round_trip(static_cast<int32_t>(~static_cast<uint32_t>(value)));
    }
  for (int shift = 0; shift < 64; ++shift)
    for (int64_t near : {-1, 0, 1}) {
      auto value = static_cast<int64_t>((uint64_t{1} << shift) + static_cast<uint64_t>(near));
      expect_round_trip(value);
      expect_round_trip(static_cast<int64_t>(~static_cast<uint64_t>(value)));
    }
}

TEST(Varint, KnownBytes) {
  Buffer out;
  put(out, int32_t{-1});
  put(out, int32_t{63});
  put(out, int32_t{-65});
  put(out, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(out, (Buffer{0x01, 0x7e, 0x81, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f}));
}

TEST(Varint, RefusesWhatDoesNotFit) {
  int32_t small;
  int64_t large;
  for (const Buffer& bad : {Buffer{0xff, 0xff, 0xff, 0xff, 0x10}, Buffer{0xff, 0xff, 0xff, 0xff, 0x8f, 0},
                            Buffer(5, 0x80), Buffer(20, 0xff)}) {
    Bytes from(bad);
    EXPECT_FALSE(take_varint(from, small));
    EXPECT_EQ(from.size(), bad.size());
  }
  Buffer nine(9, 0xff);
  nine.push_back(0x01);
  Bytes from(nine);
  EXPECT_TRUE(take_varint(from, large));
  EXPECT_EQ(large, std::numeric_limits<int64_t>::min());
  nine.back() = 0x02;
  from = nine;
  EXPECT_FALSE(take_varint(from, large));
}

// A record whose every length can be set to something else than the truth.
struct Forged {
  std::optional<int32_t> key_length, value_length, header_count, header_key_length, header_value_length;
  int32_t length_error = 0;  // added to the true record length
  std::optional<int32_t> length;

  Buffer bytes() const {
    Buffer body = {0};
    put(body, int64_t{5});
    put(body, int32_t{0});
    field(body, key_length, "key");
    field(body, value_length, "value");
    put(body, header_count.value_or(1));
    field(body, header_key_length, "hk");
    field(body, header_value_length, "hv");
    Buffer out;
    put(out, length.value_or(static_cast<int32_t>(body.size()) + length_error));
    out.insert(out.end(), body.begin(), body.end());
    return out;
  }

  static void field(Buffer& out, std::optional<int32_t> length, std::string_view text) {
    put(out, length.value_or(static_cast<int32_t>(text.size())));
    out.insert(out.end(), text.begin(), text.end());
  }
};

std::optional<RecordError> walk(Bytes records, int32_t count) {
  RecordIterator iterator(records, count);
  RecordView record;
  while (iterator.next(record)) {
    RecordHeaderIterator headers = record.headers();
    RecordHeader header;
    int32_t seen = 0;
    while (headers.next(header)) ++seen;
    EXPECT_EQ(seen, record.header_count);
  }
  EXPECT_FALSE(iterator.next(record));
  auto status = iterator.status();
  return status ? std::nullopt : std::optional(status.error());
}

template <class Records>
std::optional<RecordError> run_through(Records& records) {
  ScannedRecord record;
  while (records.next(record)) {
  }
  EXPECT_FALSE(records.next(record));
  auto status = records.status();
  return status ? std::nullopt : std::optional(status.error());
}

// Through the window and on plain memory; the latter finds the same errors as the iterator.
std::optional<RecordError> scan(Bytes records, int32_t count) {
  RecordWalk fast(records, count);
  EXPECT_EQ(run_through(fast), walk(records, count));
  RecordScanner scanner(Codec::kNone, records, count, kNoLimit);
  return run_through(scanner);
}

// Both walks must agree on what is sound.
void expect_error(const Forged& forged, RecordError error, const char* what) {
  Buffer bytes = forged.bytes();
  EXPECT_EQ(walk(bytes, 1), error) << what;
  EXPECT_TRUE(scan(bytes, 1).has_value()) << what;
}

TEST(Record, ForgedIsSoundWhenUntouched) {
  EXPECT_EQ(walk(Forged{}.bytes(), 1), std::nullopt);
  EXPECT_EQ(scan(Forged{}.bytes(), 1), std::nullopt);
}

TEST(Record, HostileRecordLength) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  for (int32_t length : {-2, -1, 0, kMax})
    expect_error({.length = length}, RecordError::kBadLength, "record length");
  expect_error({.length_error = 1}, RecordError::kBadLength, "one more than there is");
  EXPECT_TRUE(walk(Forged{.length_error = -1}.bytes(), 1).has_value());
  EXPECT_TRUE(scan(Forged{.length_error = -1}.bytes(), 1).has_value());
}

TEST(Record, HostileFieldLengths) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  for (int32_t length : {kMax, 18}) {  // 18: one more than follows the key's length
    expect_error({.key_length = length}, RecordError::kBadLength, "key");
    expect_error({.value_length = length}, RecordError::kBadLength, "value");
    expect_error({.header_key_length = length}, RecordError::kBadLength, "header key");
    expect_error({.header_value_length = length}, RecordError::kBadLength, "header value");
  }
  for (int32_t length : {-2, -1, kMin})
    expect_error({.header_key_length = length}, RecordError::kBadLength, "null header key");
  for (int32_t count : {-2, -1, kMin, kMax, 7})  // 6 bytes follow the count
    expect_error({.header_count = count}, RecordError::kBadHeaderCount, "header count");
  expect_error({.header_count = 0}, RecordError::kSizeMismatch, "header not announced");
  // A null where bytes follow: they are read as something else, and the record's end does not match.
  for (int32_t length : {-2, -1, 0}) {
    for (Forged forged : {Forged{.key_length = length}, Forged{.value_length = length},
                          Forged{.header_value_length = length}}) {
      EXPECT_TRUE(walk(forged.bytes(), 1).has_value());
      EXPECT_TRUE(scan(forged.bytes(), 1).has_value());
    }
  }
}

TEST(Record, AnyNegativeLengthIsNull) {
  Buffer body = {0};
  put(body, int64_t{0});
  put(body, int32_t{0});
  put(body, int32_t{-7});
  put(body, int32_t{-1});
  put(body, int32_t{0});
  Buffer bytes;
  put(bytes, static_cast<int32_t>(body.size()));
  bytes.insert(bytes.end(), body.begin(), body.end());
  RecordIterator iterator(bytes, 1);
  RecordView record;
  ASSERT_TRUE(iterator.next(record));
  EXPECT_FALSE(record.key.has_value());
  EXPECT_FALSE(record.value.has_value());
  RecordScanner scanner(Codec::kNone, bytes, 1, kNoLimit);
  ScannedRecord scanned;
  ASSERT_TRUE(scanner.next(scanned));
  EXPECT_EQ(scanned.key_size, -1);
}

TEST(Record, TruncationAtEachByte) {
  Buffer bytes = Forged{}.bytes();
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    // In memory of exactly that size, so that a sanitizer sees a byte too many.
    Buffer part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(cut));
    EXPECT_TRUE(walk(part, 1).has_value()) << cut;
    EXPECT_TRUE(scan(part, 1).has_value()) << cut;
  }
  EXPECT_EQ(walk({}, 1), RecordError::kTruncated);
}

TEST(Record, CountMustMatch) {
  Buffer bytes = Forged{}.bytes();
  Buffer twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(walk(twice, 2), std::nullopt);
  EXPECT_EQ(walk(twice, 1), RecordError::kTrailingBytes);
  EXPECT_EQ(scan(twice, 1), RecordError::kTrailingBytes);
  EXPECT_EQ(walk(twice, 3), RecordError::kTruncated);
  EXPECT_EQ(scan(twice, 3), RecordError::kTruncated);
  EXPECT_EQ(walk(twice, 0), RecordError::kTrailingBytes);
  EXPECT_EQ(walk(twice, -1), RecordError::kTrailingBytes);
  EXPECT_EQ(walk({}, 0), std::nullopt);
  EXPECT_EQ(scan({}, 0), std::nullopt);
}

struct Expected {
  int64_t timestamp_delta;
  int32_t offset_delta;
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

std::optional<Bytes> view(const std::optional<std::string>& text) {
  return text ? std::optional(as_bytes(*text)) : std::nullopt;
}
std::optional<std::string> copy(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(std::string(as_text(*bytes))) : std::nullopt;
}

Expected random_record(std::mt19937& random, int32_t offset_delta) {
  auto text = [&]() -> std::optional<std::string> {
    switch (random() % 4) {
      case 0: return std::nullopt;
      case 1: return "";
      case 2: return std::string(random() % 100, 'a');
      default: return std::string(random() % 20000, 'b');
    }
  };
  Expected record{static_cast<int64_t>(random()) - (int64_t{1} << 31), offset_delta, text(), text(), {}};
  for (size_t i = random() % 4; i > 0; --i)
    record.headers.emplace_back(std::string(random() % 5, 'h'), text());
  return record;
}

TEST(Record, EncodeThenWalkAndScan) {
  std::mt19937 random(7);
  std::vector<Expected> expected;
  Buffer bytes;
  for (int32_t i = 0; i < 200; ++i) {
    expected.push_back(random_record(random, i));
    const Expected& from = expected.back();
    std::vector<RecordHeader> headers;
    for (const auto& [key, value] : from.headers) headers.push_back({as_bytes(key), view(value)});
    RecordContent content{from.timestamp_delta, i, view(from.key), view(from.value), headers};
    size_t before = bytes.size();
    append_record(content, bytes);
    ASSERT_EQ(bytes.size() - before, record_size(content));
  }
  RecordIterator iterator(bytes, 200);
  RecordScanner scanner(Codec::kNone, bytes, 200, kNoLimit);
  RecordWalk fast(bytes, 200);
  RecordView record;
  ScannedRecord scanned, walked;
  for (const Expected& want : expected) {
    ASSERT_TRUE(iterator.next(record));
    EXPECT_EQ(record.timestamp_delta, want.timestamp_delta);
    EXPECT_EQ(record.offset_delta, want.offset_delta);
    EXPECT_EQ(copy(record.key), want.key);
    EXPECT_EQ(copy(record.value), want.value);
    RecordHeaderIterator headers = record.headers();
    RecordHeader header;
    for (const auto& [key, value] : want.headers) {
      ASSERT_TRUE(headers.next(header));
      EXPECT_EQ(as_text(header.key), key);
      EXPECT_EQ(copy(header.value), value);
    }
    EXPECT_FALSE(headers.next(header));
    ASSERT_TRUE(scanner.next(scanned));
    EXPECT_EQ(scanned.timestamp_delta, want.timestamp_delta);
    EXPECT_EQ(scanned.offset_delta, want.offset_delta);
    EXPECT_EQ(scanned.key_size, want.key ? static_cast<int32_t>(want.key->size()) : -1);
    EXPECT_EQ(scanned.value_size, want.value ? static_cast<int32_t>(want.value->size()) : -1);
    ASSERT_TRUE(fast.next(walked));
    EXPECT_EQ(walked, scanned);
  }
  EXPECT_FALSE(fast.next(walked));
  EXPECT_TRUE(fast.status());
  EXPECT_FALSE(iterator.next(record));
  EXPECT_TRUE(iterator.status());
  EXPECT_FALSE(scanner.next(scanned));
  EXPECT_TRUE(scanner.status());
}

// Whatever a flipped byte does, walk and scan stay inside and agree on sound or not.
TEST(Record, FlippedBytesNeverEscape) {
  Buffer bytes = Forged{}.bytes();
  for (size_t at = 0; at < bytes.size(); ++at)
    for (unsigned value = 0; value < 256; ++value) {
      Buffer changed = bytes;
      changed[at] = static_cast<uint8_t>(value);
      EXPECT_EQ(walk(changed, 1).has_value(), scan(changed, 1).has_value()) << at << " " << value;
    }
}

}  // namespace
}  // namespace pelton::proto
