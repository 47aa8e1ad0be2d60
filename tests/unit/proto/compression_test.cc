#include "proto/compression.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <random>
#include <vector>

namespace pelton::proto {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};
constexpr Codec kCompressing[] = {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

Buffer text(size_t size) {
  Buffer out(size);
  std::mt19937 random(static_cast<unsigned>(size));
  for (size_t i = 0; i < size; ++i)
    out[i] = random() % 8 == 0 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>("record "[i % 7]);
  return out;
}

Buffer packed(Codec codec, Bytes plain) {
  Buffer out;
  EXPECT_TRUE(compress(codec, plain, out));
  return out;
}

std::optional<CompressionError> error_of(Codec codec, Bytes compressed, size_t max_output) {
  Buffer out = {1, 2, 3};
  auto result = decompress(codec, compressed, max_output, out);
  EXPECT_LE(out.capacity(), 3 + max_output);
  if (result) return std::nullopt;
  EXPECT_EQ(out, (Buffer{1, 2, 3}));
  return result.error();
}

Buffer unpacked(Codec codec, Bytes compressed, size_t max_output = 1 << 24) {
  Buffer out;
  auto result = decompress(codec, compressed, max_output, out);
  EXPECT_TRUE(result) << to_string(codec) << ": " << (result ? "" : to_string(result.error()));
  return out;
}

Buffer joined(std::initializer_list<Buffer> parts) {
  Buffer out;
  for (const Buffer& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

class EveryCodec : public testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(Compression, EveryCodec, testing::ValuesIn(kCodecs),
                         [](const auto& codec) { return std::string(to_string(codec.param)); });
class EachCompressing : public testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(Compression, EachCompressing, testing::ValuesIn(kCompressing),
                         [](const auto& codec) { return std::string(to_string(codec.param)); });

TEST_P(EveryCodec, RoundTripsEverySize) {
  for (size_t size : {0, 1, 2, 100, 1023, 1024, 32767, 32768, 32769, 65536, 65537, 500000}) {
    Buffer plain = text(size);
    EXPECT_EQ(unpacked(GetParam(), packed(GetParam(), plain)), plain) << size;
  }
}

TEST_P(EveryCodec, AppendsOnBothSides) {
  Buffer out = {9, 9};
  ASSERT_TRUE(compress(GetParam(), as_bytes("abc"), out));
  ASSERT_EQ(out[1], 9);
  Buffer plain = {7};
  ASSERT_TRUE(decompress(GetParam(), Bytes(out).subspan(2), 10, plain));
  EXPECT_EQ(plain, (Buffer{7, 'a', 'b', 'c'}));
}

TEST_P(EveryCodec, LimitIsExact) {
  for (size_t size : {1, 1000, 40000, 200000}) {
    Buffer compressed = packed(GetParam(), text(size));
    EXPECT_EQ(error_of(GetParam(), compressed, size), std::nullopt) << size;
    EXPECT_EQ(error_of(GetParam(), compressed, size + 1), std::nullopt) << size;
    EXPECT_EQ(error_of(GetParam(), compressed, size - 1), CompressionError::kTooLarge) << size;
    EXPECT_EQ(error_of(GetParam(), compressed, 0), CompressionError::kTooLarge) << size;
  }
  EXPECT_EQ(error_of(GetParam(), packed(GetParam(), {}), 0), std::nullopt);
}

TEST_P(EveryCodec, StreamInSmallPieces) {
  Buffer plain = text(70000);
  Buffer compressed = packed(GetParam(), plain);
  DecompressStream stream(GetParam(), compressed, plain.size());
  Buffer back;
  uint8_t piece[13];
  for (;;) {
    auto produced = stream.read(piece);
    ASSERT_TRUE(produced);
    if (*produced == 0) break;
    back.insert(back.end(), piece, piece + *produced);
  }
  EXPECT_EQ(back, plain);
  EXPECT_EQ(*stream.read(piece), 0u);
}

TEST_P(EachCompressing, BombStopsAtTheLimit) {
  Buffer bomb = packed(GetParam(), Buffer(64 << 20, 0));
  for (size_t limit : {100, 4096, 1 << 20})
    EXPECT_EQ(error_of(GetParam(), bomb, limit), CompressionError::kTooLarge);
}

// Memory of exactly the size, so that a sanitizer sees a byte too many. Xerial snappy alone has inner
// ends: cut there, or up to 3 bytes later, it is a shorter stream.
TEST_P(EachCompressing, TruncationAtEachByte) {
  Buffer plain = text(3000);
  Buffer compressed = packed(GetParam(), plain);
  for (size_t cut = 0; cut < compressed.size(); ++cut) {
    Buffer part(compressed.begin(), compressed.begin() + static_cast<ptrdiff_t>(cut));
    Buffer out;
    auto result = decompress(GetParam(), part, 1 << 20, out);
    bool inner_end = (GetParam() == Codec::kSnappy && cut >= 16 && cut < 20) ||
                     (GetParam() == Codec::kZstd && cut == 0);
    EXPECT_EQ(result.has_value(), inner_end) << cut;
    EXPECT_TRUE(out.empty() || !inner_end);
  }
}

TEST_P(EachCompressing, FlippedBytesNeverEscape) {
  Buffer compressed = packed(GetParam(), text(2000));
  for (size_t at = 0; at < compressed.size(); ++at)
    for (uint8_t mask : {0x01, 0x80, 0xff}) {
      Buffer changed = compressed;
      changed[at] ^= mask;
      Buffer out;
      if (!decompress(GetParam(), changed, 4000, out)) {
        EXPECT_TRUE(out.empty());
      }
      EXPECT_LE(out.capacity(), 4000u);
    }
}

TEST_P(EachCompressing, ErrorsStay) {
  Buffer garbage(100, 0x42);
  DecompressStream stream(GetParam(), garbage, 1000);
  uint8_t piece[64];
  EXPECT_FALSE(stream.read(piece));
  EXPECT_FALSE(stream.read(piece));
}

// One after another, also after streams that were left unfinished or failed.
TEST_P(EveryCodec, ContextsServeManyStreams) {
  CodecContexts contexts;
  for (size_t size : {70000, 0, 500, 40000}) {
    Buffer plain = text(size);
    Buffer out = {5};
    {
      CompressStream abandoned(GetParam(), {}, out, SIZE_MAX, &contexts);
      ASSERT_TRUE(abandoned.write(plain));
    }
    EXPECT_EQ(out, (Buffer{5}));
    CompressStream stream(GetParam(), {}, out, SIZE_MAX, &contexts);
    for (size_t at = 0; at < plain.size(); at += 1000)
      ASSERT_TRUE(stream.write(Bytes(plain).subspan(at, std::min<size_t>(1000, plain.size() - at))));
    ASSERT_TRUE(stream.finish());
    Bytes compressed = Bytes(out).subspan(1);
    EXPECT_EQ(unpacked(GetParam(), compressed), plain);
    for (size_t limit : {plain.size(), plain.size() / 2, plain.size()}) {
      DecompressStream back(GetParam(), compressed, limit, &contexts);
      Buffer got;
      uint8_t piece[700];
      auto read = back.read(piece);
      for (; read && *read > 0; read = back.read(piece)) got.insert(got.end(), piece, piece + *read);
      EXPECT_EQ(read.has_value(), limit == plain.size());
      if (limit == plain.size()) {
        EXPECT_EQ(got, plain);
      }
    }
  }
}

TEST_P(EveryCodec, WritingStopsAtTheLimit) {
  Buffer plain = text(200000);
  size_t size = packed(GetParam(), plain).size();
  CodecContexts contexts;
  for (size_t limit : {size_t{0}, size_t{10}, size / 2, size - 1, size, size + 1}) {
    Buffer out = {5};
    CompressStream stream(GetParam(), {}, out, limit, &contexts);
    bool done = stream.write(plain) && stream.finish();
    EXPECT_EQ(done, limit >= size) << limit;
    if (done) {
      EXPECT_EQ(out.size(), size + 1);
    } else {
      EXPECT_EQ(stream.write(plain).error(), CompressionError::kTooLarge);
    }
  }
}

TEST_P(EveryCodec, StopsWhenTold) {
  Buffer plain = text(2'000'000);
  Buffer compressed = packed(GetParam(), plain);
  std::atomic<bool> stopping{false};
  CodecContexts contexts(&stopping);
  DecompressStream reader(GetParam(), compressed, plain.size(), &contexts);
  uint8_t piece[1000];
  ASSERT_TRUE(reader.read(piece));
  Buffer out;
  CompressStream writer(GetParam(), {}, out, SIZE_MAX, &contexts);
  ASSERT_TRUE(writer.write(plain));
  stopping = true;
  EXPECT_EQ(reader.read(piece).error(), CompressionError::kStopped);
  EXPECT_EQ(writer.write(plain).error(), CompressionError::kStopped);
}

TEST(Compression, EveryLevelIsReadable) {
  Buffer plain = text(50000);
  CodecContexts contexts;
  auto expect_readable = [&](Codec codec, CompressionLevels levels) {
    Buffer out;
    CompressStream stream(codec, levels, out, SIZE_MAX, &contexts);
    ASSERT_TRUE(stream.write(plain));
    ASSERT_TRUE(stream.finish());
    EXPECT_EQ(unpacked(codec, out), plain);
  };
  for (int32_t level : {-1, 1, 5, 9, 1}) expect_readable(Codec::kGzip, {.gzip = level});
  for (int32_t level = 1; level <= 17; ++level) expect_readable(Codec::kLz4, {.lz4 = level});
  for (int32_t level : {-131072, -5, 0, 1, 3, 19, 22, 3}) expect_readable(Codec::kZstd, {.zstd = level});
}

TEST(Compression, LevelsChangeTheSize) {
  Buffer plain = text(50000);
  CodecContexts contexts;
  auto size_at = [&](Codec codec, CompressionLevels levels) {
    Buffer out;
    CompressStream stream(codec, levels, out, SIZE_MAX, &contexts);
    EXPECT_TRUE(stream.write(plain) && stream.finish());
    return out.size();
  };
  EXPECT_LT(size_at(Codec::kGzip, {.gzip = 9}), size_at(Codec::kGzip, {.gzip = 1}));
  EXPECT_LT(size_at(Codec::kLz4, {.lz4 = 12}), size_at(Codec::kLz4, {.lz4 = 9}));
  EXPECT_LT(size_at(Codec::kZstd, {.zstd = 19}), size_at(Codec::kZstd, {.zstd = -50}));
}

TEST(Compression, UnknownCodecIsAnError) {
  Buffer out;
  for (uint8_t number : {5, 6, 7}) {
    EXPECT_FALSE(compress(static_cast<Codec>(number), as_bytes("x"), out));
    EXPECT_FALSE(decompress(static_cast<Codec>(number), as_bytes("x"), 10, out));
  }
  EXPECT_TRUE(out.empty());
}

TEST(Gzip, FurtherMembersAreReadAndGarbageIgnored) {
  Buffer a = packed(Codec::kGzip, as_bytes("first "));
  Buffer b = packed(Codec::kGzip, as_bytes("second"));
  EXPECT_EQ(as_text(unpacked(Codec::kGzip, joined({a, b}))), "first second");
  EXPECT_EQ(as_text(unpacked(Codec::kGzip, joined({a, Buffer(40, 0)}))), "first ");
  EXPECT_EQ(as_text(unpacked(Codec::kGzip, joined({a, Buffer{0x1f, 0x8b, 8}}))), "first ");
  Buffer damaged = b;
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  EXPECT_EQ(error_of(Codec::kGzip, joined({a, damaged}), 100), CompressionError::kCorrupt);
}

TEST(Gzip, EmptyInputIsTruncated) {
  EXPECT_EQ(error_of(Codec::kGzip, {}, 10), CompressionError::kTruncated);
}

Buffer raw_snappy(Bytes plain) {
  std::string out;
  snappy::Compress(reinterpret_cast<const char*>(plain.data()), plain.size(), &out);
  return {out.begin(), out.end()};
}

Buffer xerial_header(int32_t version) {
  Buffer header = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 0, 0, 0, 0, 1};
  store_be<int32_t>(header.data() + 8, version);
  return header;
}

Buffer chunk(int32_t length, const Buffer& block) {
  Buffer out(4);
  store_be<int32_t>(out.data(), length);
  out.insert(out.end(), block.begin(), block.end());
  return out;
}
Buffer chunk(const Buffer& block) { return chunk(static_cast<int32_t>(block.size()), block); }

TEST(Snappy, RawBlocksAreRead) {
  for (size_t size : {0, 1, 50, 40000, 200000}) {
    Buffer plain = text(size);
    EXPECT_EQ(unpacked(Codec::kSnappy, raw_snappy(plain)), plain);
  }
  Buffer trailing = raw_snappy(as_bytes("hello"));
  trailing.push_back(0);
  EXPECT_EQ(error_of(Codec::kSnappy, trailing, 100), CompressionError::kCorrupt);
  EXPECT_EQ(error_of(Codec::kSnappy, {}, 100), CompressionError::kTruncated);
}

TEST(Snappy, WritesTheXerialFraming) {
  Buffer out = packed(Codec::kSnappy, text(70000));
  EXPECT_EQ(Buffer(out.begin(), out.begin() + 16), xerial_header(1));
  size_t at = 16;
  std::vector<size_t> sizes;
  while (at < out.size()) {
    auto length = load_be<uint32_t>(out.data() + at);
    size_t plain = 0;
    snappy::GetUncompressedLength(reinterpret_cast<const char*>(out.data() + at + 4), length, &plain);
    sizes.push_back(plain);
    at += 4 + length;
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{32768, 32768, 70000 - 65536}));
  EXPECT_EQ(at, out.size());
}

TEST(Snappy, XerialStreamsMayFollowEachOther) {
  Buffer a = chunk(raw_snappy(as_bytes("one ")));
  Buffer b = chunk(raw_snappy(as_bytes("two ")));
  Buffer all = joined({xerial_header(1), a, b, xerial_header(1), a, xerial_header(1), {0, 0, 0}});
  EXPECT_EQ(as_text(unpacked(Codec::kSnappy, all)), "one two one ");
}

TEST(Snappy, HostileChunkLengths) {
  Buffer block = raw_snappy(as_bytes("hello"));
  auto size = static_cast<int32_t>(block.size());
  for (int32_t length : {-2, -1, 0, INT32_MAX, INT32_MIN, size + 1, size - 1}) {
    Buffer stream = joined({xerial_header(1), chunk(length, block)});
    EXPECT_TRUE(error_of(Codec::kSnappy, stream, 1000).has_value()) << length;
  }
  EXPECT_EQ(error_of(Codec::kSnappy, joined({xerial_header(0), chunk(block)}), 1000),
            CompressionError::kCorrupt);
}

// A few bytes that announce gigabytes: refused before anything is allocated.
TEST(Snappy, AnnouncedSizeIsNotBelieved) {
  Buffer block = {0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x61};
  EXPECT_EQ(error_of(Codec::kSnappy, block, size_t{1} << 33), CompressionError::kCorrupt);
  EXPECT_EQ(error_of(Codec::kSnappy, joined({xerial_header(1), chunk(block)}), size_t{1} << 33),
            CompressionError::kCorrupt);
  EXPECT_EQ(error_of(Codec::kSnappy, block, 1000), CompressionError::kTooLarge);
}

Buffer lz4(Bytes plain, LZ4F_frameInfo_t info) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo = info;
  Buffer out(LZ4F_compressFrameBound(plain.size(), &preferences));
  out.resize(LZ4F_compressFrame(out.data(), out.size(), plain.data(), plain.size(), &preferences));
  return out;
}

TEST(Lz4, AnyLegalFrameIsRead) {
  Buffer plain = text(300000);
  for (LZ4F_blockSizeID_t size : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB})
    for (LZ4F_blockMode_t mode : {LZ4F_blockLinked, LZ4F_blockIndependent})
      for (bool sums : {false, true}) {
        LZ4F_frameInfo_t info{};
        info.blockSizeID = size;
        info.blockMode = mode;
        info.contentChecksumFlag = sums ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
        info.blockChecksumFlag = sums ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
        info.contentSize = sums ? plain.size() : 0;
        EXPECT_EQ(unpacked(Codec::kLz4, lz4(plain, info)), plain);
      }
}

TEST(Lz4, WritesWhatKafkaReads) {
  Buffer out = packed(Codec::kLz4, text(1000));
  constexpr uint8_t kVersion1IndependentBlocks = 0x60;
  constexpr uint8_t k64KiBBlocks = 0x40;
  ASSERT_GT(out.size(), 7u);
  EXPECT_EQ(Buffer(out.begin(), out.begin() + 6),
            (Buffer{0x04, 0x22, 0x4d, 0x18, kVersion1IndependentBlocks, k64KiBBlocks}));
}

TEST(Lz4, WhatFollowsTheFrameIsIgnored) {
  Buffer frame = packed(Codec::kLz4, as_bytes("hello"));
  EXPECT_EQ(as_text(unpacked(Codec::kLz4, joined({frame, Buffer(9, 0xee)}))), "hello");
  EXPECT_EQ(as_text(unpacked(Codec::kLz4, joined({frame, frame}))), "hello");
  EXPECT_EQ(error_of(Codec::kLz4, {}, 10), CompressionError::kTruncated);
}

TEST(Zstd, FurtherFramesAreReadAndGarbageRefused) {
  Buffer a = packed(Codec::kZstd, as_bytes("first "));
  Buffer b = packed(Codec::kZstd, as_bytes("second"));
  Buffer skippable = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
  EXPECT_EQ(as_text(unpacked(Codec::kZstd, joined({a, skippable, b}))), "first second");
  EXPECT_EQ(error_of(Codec::kZstd, joined({a, Buffer(8, 0)}), 100), CompressionError::kCorrupt);
  EXPECT_EQ(error_of(Codec::kZstd, joined({a, {0x28, 0xb5}}), 100), CompressionError::kTruncated);
  EXPECT_TRUE(unpacked(Codec::kZstd, {}).empty());
}

// A frame header alone, with a window of 2^log bytes and unknown content size, and one empty last block.
Buffer zstd_frame(int window_log) {
  auto window = static_cast<uint8_t>((window_log - 10) << 3);
  return {0x28, 0xb5, 0x2f, 0xfd, 0x00, window, 0x01, 0x00, 0x00};
}

TEST(Zstd, AnnouncedSizeHolds) {
  // One frame that announces 88 bytes and whose only block is empty.
  const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x58, 0x01, 0x00, 0x00};
  Buffer whole;
  EXPECT_FALSE(decompress(Codec::kZstd, frame, 4000, whole).has_value());
  for (size_t size : {1, 61, 88, 200}) {
    std::vector<uint8_t> piece(size);
    DecompressStream stream(Codec::kZstd, frame, 4000);
    EXPECT_FALSE(stream.read(piece).has_value()) << size;
  }
}

TEST(Zstd, WindowIsBounded) {
  EXPECT_EQ(error_of(Codec::kZstd, zstd_frame(kZstdMaxWindowLog), 10), std::nullopt);
  EXPECT_EQ(error_of(Codec::kZstd, zstd_frame(kZstdMaxWindowLog + 1), 10),
            CompressionError::kWindowTooLarge);
  EXPECT_EQ(error_of(Codec::kZstd, zstd_frame(41), 10), CompressionError::kWindowTooLarge);
}

TEST(Zstd, HighestLevelIsRead) {
  Buffer plain = text(200000);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 22);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  Buffer out(ZSTD_compressBound(plain.size()));
  ZSTD_inBuffer input{plain.data(), plain.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  // Two calls, so that the size is not known when the header is written, as with Kafka's writer.
  input.size = 1000;
  ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush);
  input.size = plain.size();
  EXPECT_EQ(ZSTD_compressStream2(context, &output, &input, ZSTD_e_end), 0u);
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  EXPECT_EQ(unpacked(Codec::kZstd, out), plain);
}

}  // namespace
}  // namespace pelton::proto
