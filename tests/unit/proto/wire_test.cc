#include "proto/wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace pelton::proto {
namespace {

using std::string_view_literals::operator""sv;

struct In {
  explicit In(std::vector<uint8_t> from, size_t limit = 1 << 20)
      : bytes(std::move(from)), arena(limit), reader(bytes, arena) {}
  std::vector<uint8_t> bytes;
  Arena arena;
  WireReader reader;
};

struct Out {
  std::vector<uint8_t> buffer = std::vector<uint8_t>(200'000);
  WireWriter writer{buffer};
  std::vector<uint8_t> bytes() const {
    return {buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(writer.written())};
  }
};

TEST(Wire, IntegersAreBigEndian) {
  Out out;
  out.writer.write_i8(-2);
  out.writer.write_i16(0x0102);
  out.writer.write_u16(0xfffe);
  out.writer.write_i32(-3);
  out.writer.write_u32(0x80000001);
  out.writer.write_i64(0x0102030405060708);
  out.writer.write_f64(1.5);
  out.writer.write_bool(true);
  std::vector<uint8_t> expected = {0xfe, 1,    2,    0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0x80,
                                   0,    0,    1,    1,    2,    3,    4,    5,    6,    7,
                                   8,    0x3f, 0xf8, 0,    0,    0,    0,    0,    0,    1};
  ASSERT_EQ(out.bytes(), expected);
  In in(expected);
  EXPECT_EQ(in.reader.read_i8(), -2);
  EXPECT_EQ(in.reader.read_i16(), 0x0102);
  EXPECT_EQ(in.reader.read_u16(), 0xfffe);
  EXPECT_EQ(in.reader.read_i32(), -3);
  EXPECT_EQ(in.reader.read_u32(), 0x80000001u);
  EXPECT_EQ(in.reader.read_i64(), 0x0102030405060708);
  EXPECT_EQ(in.reader.read_f64(), 1.5);
  EXPECT_TRUE(in.reader.read_bool());
  EXPECT_TRUE(in.reader.ok());
  EXPECT_EQ(in.reader.left(), 0u);
}

TEST(Wire, VarintsRoundTripAtTheirEdges) {
  for (uint32_t value : {0u, 1u, 127u, 128u, 16383u, 16384u, 0x0fffffffu, 0x10000000u, ~0u}) {
    Out out;
    out.writer.write_uvarint(value);
    EXPECT_EQ(out.writer.written(), uvarint_size(value)) << value;
    In in(out.bytes());
    EXPECT_EQ(in.reader.read_uvarint(), value);
    EXPECT_TRUE(in.reader.ok());
  }
  for (int32_t value : {0, -1, 1, 63, -64, 64, INT32_MAX, INT32_MIN}) {
    Out out;
    out.writer.write_varint(value);
    EXPECT_EQ(out.writer.written(), varint_size(value)) << value;
    EXPECT_EQ(In(out.bytes()).reader.read_varint(), value);
  }
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    Out out;
    out.writer.write_varlong(value);
    EXPECT_EQ(out.writer.written(), varlong_size(value)) << value;
    EXPECT_EQ(In(out.bytes()).reader.read_varlong(), value);
  }
}

TEST(Wire, VarintsBeyondTheirTypeAreErrors) {
  In five({0xff, 0xff, 0xff, 0xff, 0x10});
  EXPECT_EQ(five.reader.read_uvarint(), 0u);
  EXPECT_EQ(five.reader.error(), DecodeError::kBadVarint);
  In six({0x80, 0x80, 0x80, 0x80, 0x80, 0x01});
  EXPECT_EQ(six.reader.read_uvarint(), 0u);
  EXPECT_EQ(six.reader.error(), DecodeError::kBadVarint);
  In cut_off({0x80, 0x80});
  EXPECT_EQ(cut_off.reader.read_uvarint(), 0u);
  EXPECT_EQ(cut_off.reader.error(), DecodeError::kTruncated);
  In long_one({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02});
  EXPECT_EQ(long_one.reader.read_varlong(), 0);
  EXPECT_EQ(long_one.reader.error(), DecodeError::kBadVarint);
}

TEST(Wire, ErrorsStick) {
  In in({0, 0, 0, 5, 7});
  EXPECT_TRUE(in.reader.read_bytes(false).empty());
  EXPECT_EQ(in.reader.error(), DecodeError::kTruncated);
  EXPECT_EQ(in.reader.left(), 0u);
  EXPECT_EQ(in.reader.read_i8(), 0);
  EXPECT_EQ(in.reader.read_string(true), "");
  EXPECT_TRUE(in.reader.read_uuid().is_zero());
  EXPECT_EQ(in.reader.read_count(true, true, 1), 0);
  in.reader.fail(DecodeError::kTooLarge);
  EXPECT_EQ(in.reader.error(), DecodeError::kTruncated) << "the first error counts";
}

TEST(Wire, StringsInBothForms) {
  Out out;
  out.writer.write_string(false, "ab");
  out.writer.write_string(true, "ab");
  out.writer.write_nullable_string(false, true, std::nullopt);
  out.writer.write_nullable_string(true, true, std::nullopt);
  out.writer.write_nullable_string(true, false, std::nullopt);
  std::vector<uint8_t> expected = {0, 2, 'a', 'b', 3, 'a', 'b', 0xff, 0xff, 0, 1};
  ASSERT_EQ(out.bytes(), expected);
  In in(expected);
  EXPECT_EQ(in.reader.read_string(false), "ab");
  EXPECT_EQ(in.reader.read_string(true), "ab");
  EXPECT_EQ(in.reader.read_nullable_string(false, true), std::nullopt);
  EXPECT_EQ(in.reader.read_nullable_string(true, true), std::nullopt);
  EXPECT_EQ(in.reader.read_nullable_string(true, false), ""sv);
  EXPECT_TRUE(in.reader.ok());
  EXPECT_EQ(string_size(false, "ab"sv), 4u);
  EXPECT_EQ(string_size(true, "ab"sv), 3u);
  EXPECT_EQ(string_size(true, std::optional<std::string_view>()), 1u);
}

TEST(Wire, NullWhereNullIsNotAllowedIsAnError) {
  In compact({0, 0, 0, 0});
  EXPECT_EQ(compact.reader.read_string(true), "");
  EXPECT_EQ(compact.reader.error(), DecodeError::kBadLength);
  In classic({0xff, 0xff});
  EXPECT_EQ(classic.reader.read_nullable_string(false, false), ""sv);
  EXPECT_EQ(classic.reader.error(), DecodeError::kBadLength);
  In bytes({0xff, 0xff, 0xff, 0xff});
  EXPECT_TRUE(bytes.reader.read_bytes(false).empty());
  EXPECT_EQ(bytes.reader.error(), DecodeError::kBadLength);
  In count({0xff, 0xff, 0xff, 0xff});
  EXPECT_EQ(count.reader.read_count(false, false, 1), 0);
  EXPECT_EQ(count.reader.error(), DecodeError::kBadLength);
}

TEST(Wire, StringsAreLimited) {
  std::string longest(kMaxStringBytes, 'x');
  Out out;
  out.writer.write_string(true, longest);
  In good(out.bytes());
  EXPECT_EQ(good.reader.read_string(true), longest);

  std::string too_long(kMaxStringBytes + 1, 'x');
  Out cut;
  cut.writer.write_string(false, too_long);
  EXPECT_EQ(cut.writer.written(), string_size(false, std::string_view(too_long)));
  EXPECT_EQ(In(cut.bytes()).reader.read_string(false), longest);

  Out raw;
  raw.writer.write_uvarint(static_cast<uint32_t>(too_long.size()) + 1);
  raw.writer.write_raw(as_bytes(too_long));
  In bad(raw.bytes());
  EXPECT_EQ(bad.reader.read_string(true), "");
  EXPECT_EQ(bad.reader.error(), DecodeError::kBadLength);
}

TEST(Wire, CountsAreCheckedAgainstTheBytesLeft) {
  In fits({0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(fits.reader.read_count(false, false, 4), 2);
  In one_less({0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(one_less.reader.read_count(false, false, 4), 0);
  EXPECT_EQ(one_less.reader.error(), DecodeError::kTruncated);
  In huge({0xff, 0xff, 0xff, 0xff, 0x0f});
  EXPECT_EQ(huge.reader.read_count(true, true, 1), 0);
  EXPECT_FALSE(huge.reader.ok());
  In null_array({0});
  EXPECT_EQ(null_array.reader.read_count(true, true, 1), -1);
  EXPECT_TRUE(null_array.reader.ok());
}

TEST(Wire, EveryElementTakesOfTheArenasLimit) {
  // Two arrays of one byte elements: together they are too many.
  In in({0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 5, 1, 2, 3, 4, 5}, 200);
  EXPECT_EQ(in.reader.read_count(false, false, 1), 5);
  in.reader.read_raw(5);
  EXPECT_EQ(in.reader.read_count(false, false, 1), 0);
  EXPECT_EQ(in.reader.error(), DecodeError::kTooLarge);
}

TEST(Wire, ArraysStopAtTheArenasLimit) {
  In in({1, 2, 3}, 64);
  EXPECT_EQ(in.reader.array<uint64_t>(8).size(), 8u);
  EXPECT_TRUE(in.reader.ok());
  EXPECT_TRUE(in.reader.array<uint64_t>(1).empty());
  EXPECT_EQ(in.reader.error(), DecodeError::kTooLarge);
}

TEST(Wire, TaggedFieldsAreWalkedInTheirBounds) {
  // two fields: tag 0 of 4 bytes, tag 5 of 2 bytes; then a byte of what follows
  In in({2, 0, 4, 0, 0, 0, 9, 5, 2, 1, 2, 0x77});
  TagReader tags(in.reader);
  ASSERT_TRUE(tags.next());
  EXPECT_EQ(tags.tag(), 0u);
  EXPECT_EQ(in.reader.left(), 4u);
  EXPECT_EQ(in.reader.read_i32(), 9);
  ASSERT_TRUE(tags.next());
  EXPECT_EQ(tags.tag(), 5u);
  tags.skip();
  EXPECT_FALSE(tags.next());
  EXPECT_TRUE(in.reader.ok());
  EXPECT_EQ(in.reader.read_i8(), 0x77);
}

DecodeError skipped(std::vector<uint8_t> bytes) {
  In in(std::move(bytes));
  in.reader.skip_tagged_fields();
  EXPECT_TRUE(in.reader.ok() || in.reader.left() == 0);
  return in.reader.error();
}

TEST(Wire, TaggedFieldErrors) {
  EXPECT_EQ(skipped({0}), DecodeError::kNone);
  EXPECT_EQ(skipped({1, 200, 1, 0}), DecodeError::kNone);
  EXPECT_EQ(skipped({2, 3, 0, 3, 0}), DecodeError::kBadTaggedField) << "twice";
  EXPECT_EQ(skipped({2, 3, 0, 2, 0}), DecodeError::kBadTaggedField) << "descending";
  EXPECT_EQ(skipped({1, 3, 2, 0}), DecodeError::kTruncated) << "longer than the rest";
  EXPECT_EQ(skipped({0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0}), DecodeError::kTruncated);
  EXPECT_EQ(skipped({}), DecodeError::kTruncated);
}

TEST(Wire, ATaggedFieldMustFillItsSize) {
  In longer({1, 0, 5, 0, 0, 0, 9, 8, 0x77});
  TagReader tags(longer.reader);
  ASSERT_TRUE(tags.next());
  EXPECT_EQ(longer.reader.read_i32(), 9);
  EXPECT_FALSE(tags.next());
  EXPECT_EQ(longer.reader.error(), DecodeError::kBadTaggedField);

  In shorter({1, 0, 2, 0, 0, 0, 9});
  TagReader short_tags(shorter.reader);
  ASSERT_TRUE(short_tags.next());
  EXPECT_EQ(shorter.reader.read_i32(), 0) << "must not read beyond its size";
  EXPECT_FALSE(short_tags.next());
  EXPECT_EQ(shorter.reader.error(), DecodeError::kTruncated);
  EXPECT_EQ(shorter.reader.left(), 0u);
}

TEST(Wire, RecordsInlineNullAndExternal) {
  Out out;
  out.writer.write_records(true, true, Records());
  out.writer.write_records(false, true, Records());
  out.writer.write_records(false, false, Records());
  out.writer.write_records(true, true, Records::of(as_bytes("xy")));
  out.writer.write_records(false, true, Records::external(300, 42));
  out.writer.write_i8(1);
  std::vector<uint8_t> expected = {0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
                                   3, 'x',  'y',  0,    0,    1, 44, 1};
  EXPECT_EQ(out.bytes(), expected);
  ASSERT_EQ(out.writer.holes().size(), 1u);
  EXPECT_EQ(out.writer.holes()[0].at, 16u);
  EXPECT_EQ(out.writer.holes()[0].size, 300u);
  EXPECT_EQ(out.writer.holes()[0].token, 42u);
  EXPECT_EQ(records_size(false, Records::external(300, 42)), 304u);
  EXPECT_EQ(records_size(true, Records::external(300, 42)), 302u);
}

TEST(Wire, ManyHolesKeepTheirOrder) {
  Out out;
  for (uint32_t i = 0; i < 100; ++i) {
    out.writer.write_records(true, true, Records::external(i + 1, i));
    ASSERT_EQ(out.writer.holes().size(), i + 1);
  }
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(out.writer.holes()[i].token, i);
}

TEST(WireDeathTest, WritingPastTheAnnouncedSizeIsABug) {
  uint8_t room[3];
  WireWriter out(room);
  out.write_i16(1);
  EXPECT_DEATH(out.write_i16(1), "announced size");
}

// Whatever the bytes, a reader ends at the end and its views lie inside the frame.
TEST(Wire, RandomBytesStayInsideTheFrame) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes(random() % 24);
    for (uint8_t& byte : bytes) byte = random() % 4 == 0 ? static_cast<uint8_t>(random()) : random() % 6;
    In in(bytes);
    const uint8_t* first = in.bytes.data();
    for (int step = 0; step < 6; ++step) {
      Bytes view;
      switch (random() % 5) {
        case 0: view = as_bytes(in.reader.read_string(random() % 2 == 0)); break;
        case 1: view = in.reader.read_nullable_bytes(random() % 2 == 0, true).value_or(Bytes()); break;
        case 2: in.reader.skip_tagged_fields(); break;
        case 3: in.reader.read_count(random() % 2 == 0, true, 1 + random() % 8); break;
        default: in.reader.read_varlong(); break;
      }
      if (!view.empty()) {
        ASSERT_GE(view.data(), first);
        ASSERT_LE(view.data() + view.size(), first + in.bytes.size());
      }
      ASSERT_LE(in.reader.left(), in.bytes.size());
    }
  }
}

}  // namespace
}  // namespace pelton::proto
