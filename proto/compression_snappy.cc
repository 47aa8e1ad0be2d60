// Snappy as Kafka has it. Java writes the framing of the xerial library (not the one of snappy's own
// framing document):
//   0x82 "SNAPPY" 0x00, int32 version, int32 oldest compatible version, then chunks: int32 length, block.
// Other clients write one raw block. The reader tells them apart by the magic.
#include <snappy.h>

#include <algorithm>
#include <array>

#include "proto/compression_codecs.h"

namespace pelton::proto::compression {
namespace {

constexpr std::array<uint8_t, 8> kXerialMagic = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr size_t kXerialHeaderSize = 16;
constexpr int32_t kXerialVersion = 1;
constexpr size_t kXerialBlockSize = 32 * 1024;
// Snappy's densest element makes 64 bytes of 3, so no block can grow more than this.
constexpr size_t kMaxRatio = 22;

bool starts_with_magic(Bytes bytes) {
  return bytes.size() >= kXerialHeaderSize &&
         std::equal(kXerialMagic.begin(), kXerialMagic.end(), bytes.begin());
}

const char* chars(const uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }
char* chars(uint8_t* bytes) { return reinterpret_cast<char*>(bytes); }

class SnappyDecoder final : public Decoder {
 public:
  SnappyDecoder(Bytes compressed, size_t max_output)
      : left_(compressed), max_output_(max_output), xerial_(starts_with_magic(compressed)) {}

  ReadResult read(MutableBytes into) override {
    while (pending_.empty()) {
      auto more = next_block();
      if (!more) return std::unexpected(more.error());
      if (!*more) return 0;
    }
    size_t count = std::min(into.size(), pending_.size());
    std::memcpy(into.data(), pending_.data(), count);
    pending_ = pending_.subspan(count);
    return count;
  }

 private:
  using More = Result<bool, CompressionError>;

  More next_block() {
    if (xerial_) return next_chunk();
    if (raw_done_) return false;
    raw_done_ = true;
    return decode(left_);
  }

  More next_chunk() {
    while (starts_with_magic(left_)) {
      if (load_be<int32_t>(left_.data() + kXerialMagic.size()) < kXerialVersion)
        return std::unexpected(CompressionError::kCorrupt);
      left_ = left_.subspan(kXerialHeaderSize);
    }
    if (left_.size() < sizeof(int32_t)) return false;
    int32_t length = load_be<int32_t>(left_.data());
    left_ = left_.subspan(sizeof(int32_t));
    if (length < 0) return std::unexpected(CompressionError::kCorrupt);
    auto size = static_cast<size_t>(length);
    if (size > left_.size()) return std::unexpected(CompressionError::kTruncated);
    Bytes block = left_.first(size);
    left_ = left_.subspan(size);
    return decode(block);
  }

  // The announced size is believed only where the block could really produce it.
  More decode(Bytes block) {
    if (block.empty()) return std::unexpected(CompressionError::kTruncated);
    size_t announced;
    if (!snappy::GetUncompressedLength(chars(block.data()), block.size(), &announced))
      return std::unexpected(CompressionError::kCorrupt);
    if (announced > max_output_) return std::unexpected(CompressionError::kTooLarge);
    if (announced / kMaxRatio > block.size()) return std::unexpected(CompressionError::kCorrupt);
    block_.resize(announced);
    if (!snappy::RawUncompress(chars(block.data()), block.size(), chars(block_.data())))
      return std::unexpected(CompressionError::kCorrupt);
    pending_ = block_;
    return true;
  }

  Bytes left_;
  size_t max_output_;
  bool xerial_;
  bool raw_done_ = false;
  std::vector<uint8_t> block_;
  Bytes pending_;
};

}  // namespace

std::unique_ptr<Decoder> snappy_decoder(Bytes compressed, size_t max_output) {
  return std::make_unique<SnappyDecoder>(compressed, max_output);
}

Result<void, CompressionError> snappy_compress(Bytes plain, std::vector<uint8_t>& out) {
  size_t at = out.size();
  size_t blocks = (plain.size() + kXerialBlockSize - 1) / kXerialBlockSize;
  out.resize(at + kXerialHeaderSize +
             blocks * (sizeof(int32_t) + snappy::MaxCompressedLength(kXerialBlockSize)));
  std::copy(kXerialMagic.begin(), kXerialMagic.end(), out.begin() + static_cast<ptrdiff_t>(at));
  at += kXerialMagic.size();
  store_be<int32_t>(out.data() + at, kXerialVersion);
  store_be<int32_t>(out.data() + at + 4, kXerialVersion);
  at += 8;
  while (!plain.empty()) {
    Bytes block = plain.first(std::min(plain.size(), kXerialBlockSize));
    plain = plain.subspan(block.size());
    size_t size = 0;
    snappy::RawCompress(chars(block.data()), block.size(), chars(out.data() + at + 4), &size);
    store_be<int32_t>(out.data() + at, static_cast<int32_t>(size));
    at += 4 + size;
  }
  out.resize(at);
  return {};
}

}  // namespace pelton::proto::compression
