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
  void reset(Bytes compressed, size_t max_output) override {
    left_ = compressed;
    max_output_ = max_output;
    xerial_ = starts_with_magic(compressed);
    raw_done_ = false;
    pending_ = {};
    if (block_.capacity() > kKeptBlock) block_ = {};
  }

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
  static constexpr size_t kKeptBlock = 256 * 1024;

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
  size_t max_output_ = 0;
  bool xerial_ = false;
  bool raw_done_ = false;
  std::vector<uint8_t> block_;
  Bytes pending_;
};

class SnappyEncoder final : public Encoder {
 public:
  WriteResult reset(const CompressionLevels&, Output& out) override {
    block_.clear();
    uint8_t* to = std::copy(kXerialMagic.begin(), kXerialMagic.end(), out.room(kXerialHeaderSize).data());
    store_be<int32_t>(to, kXerialVersion);
    store_be<int32_t>(to + 4, kXerialVersion);
    return out.take(kXerialHeaderSize);
  }
  WriteResult write(Bytes plain, Output& out) override {
    while (!plain.empty()) {
      if (block_.empty() && plain.size() >= kXerialBlockSize) {
        if (auto done = write_block(plain.first(kXerialBlockSize), out); !done) return done;
        plain = plain.subspan(kXerialBlockSize);
        continue;
      }
      Bytes part = plain.first(std::min(plain.size(), kXerialBlockSize - block_.size()));
      block_.insert(block_.end(), part.begin(), part.end());
      plain = plain.subspan(part.size());
      if (block_.size() < kXerialBlockSize) continue;
      if (auto done = finish(out); !done) return done;
    }
    return {};
  }
  WriteResult finish(Output& out) override {
    WriteResult done = block_.empty() ? WriteResult() : write_block(block_, out);
    block_.clear();
    return done;
  }

 private:
  static WriteResult write_block(Bytes block, Output& out) {
    MutableBytes into = out.room(sizeof(int32_t) + snappy::MaxCompressedLength(block.size()));
    size_t size = 0;
    snappy::RawCompress(chars(block.data()), block.size(), chars(into.data() + sizeof(int32_t)), &size);
    store_be<int32_t>(into.data(), static_cast<int32_t>(size));
    return out.take(sizeof(int32_t) + size);
  }

  std::vector<uint8_t> block_;
};

}  // namespace

std::unique_ptr<Decoder> make_snappy_decoder() { return std::make_unique<SnappyDecoder>(); }
std::unique_ptr<Encoder> make_snappy_encoder() { return std::make_unique<SnappyEncoder>(); }

}  // namespace pelton::proto::compression
