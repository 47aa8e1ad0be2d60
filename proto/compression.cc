#include "proto/compression.h"

#include <algorithm>

#include "proto/compression_codecs.h"
#include "reactor/base/check.h"

namespace pelton::proto {
namespace {

using compression::Decoder;
using compression::ReadResult;

class PlainDecoder final : public Decoder {
 public:
  explicit PlainDecoder(Bytes bytes) : left_(bytes) {}
  ReadResult read(MutableBytes into) override {
    size_t count = std::min(into.size(), left_.size());
    if (count > 0) std::memcpy(into.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return count;
  }

 private:
  Bytes left_;
};

class FailedDecoder final : public Decoder {
 public:
  explicit FailedDecoder(CompressionError error) : error_(error) {}
  ReadResult read(MutableBytes) override { return std::unexpected(error_); }

 private:
  CompressionError error_;
};

std::unique_ptr<Decoder> make_decoder(Codec codec, Bytes compressed, size_t max_output) {
  switch (codec) {
    case Codec::kNone: return std::make_unique<PlainDecoder>(compressed);
    case Codec::kGzip: return compression::gzip_decoder(compressed);
    case Codec::kSnappy: return compression::snappy_decoder(compressed, max_output);
    case Codec::kLz4: return compression::lz4_decoder(compressed);
    case Codec::kZstd: return compression::zstd_decoder(compressed);
  }
  return std::make_unique<FailedDecoder>(CompressionError::kCorrupt);
}

// Ordinary records shrink to a half or a quarter: the first guess for the output.
constexpr size_t kFirstGuess = 4;
constexpr size_t kSmallestGuess = 1024;

}  // namespace

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::kNone: return "none";
    case Codec::kGzip: return "gzip";
    case Codec::kSnappy: return "snappy";
    case Codec::kLz4: return "lz4";
    case Codec::kZstd: return "zstd";
  }
  return "?";
}

std::string_view to_string(CompressionError error) {
  switch (error) {
    case CompressionError::kTruncated: return "compressed data ends early";
    case CompressionError::kCorrupt: return "corrupt compressed data";
    case CompressionError::kTooLarge: return "decompressed data too large";
    case CompressionError::kWindowTooLarge: return "compression window too large";
    case CompressionError::kOutOfMemory: return "out of memory";
  }
  return "?";
}

DecompressStream::DecompressStream(Codec codec, Bytes compressed, size_t max_output)
    : decoder_(make_decoder(codec, compressed, max_output)), allowed_(max_output) {}
DecompressStream::DecompressStream(DecompressStream&&) noexcept = default;
DecompressStream& DecompressStream::operator=(DecompressStream&&) noexcept = default;
DecompressStream::~DecompressStream() = default;

ReadResult DecompressStream::read(MutableBytes into) {
  CHECK(!into.empty());
  if (allowed_ == 0) return read_past_limit();
  ReadResult produced = decoder_->read(into.first(std::min(into.size(), allowed_)));
  if (!produced)
    decoder_ = std::make_unique<FailedDecoder>(produced.error());
  else
    allowed_ -= *produced;
  return produced;
}

// The limit is reached: only the end of the stream is welcome.
ReadResult DecompressStream::read_past_limit() {
  uint8_t surplus;
  ReadResult produced = decoder_->read({&surplus, 1});
  if (produced && *produced > 0) produced = std::unexpected(CompressionError::kTooLarge);
  if (!produced) decoder_ = std::make_unique<FailedDecoder>(produced.error());
  return produced;
}

Result<void, CompressionError> decompress(Codec codec, Bytes compressed, size_t max_output,
                                          std::vector<uint8_t>& out) {
  const size_t start = out.size();
  DecompressStream stream(codec, compressed, max_output);
  size_t room = std::min(max_output, std::max(compressed.size() * kFirstGuess, kSmallestGuess));
  size_t have = 0;
  for (;;) {
    out.reserve(start + room);  // exactly this much: resize alone would round up beyond the limit
    out.resize(start + room);
    // With the limit reached there is no room: the read then only asks whether the stream ends.
    uint8_t none;
    MutableBytes into = have < room ? MutableBytes(out).subspan(start + have) : MutableBytes(&none, 1);
    ReadResult produced = stream.read(into);
    if (!produced || *produced == 0) {
      out.resize(start + (produced ? have : 0));
      if (!produced) return std::unexpected(produced.error());
      return {};
    }
    have += *produced;
    if (have == room) room = std::min(max_output, room * 2);
  }
}

Result<void, CompressionError> compress(Codec codec, Bytes plain, std::vector<uint8_t>& out) {
  switch (codec) {
    case Codec::kNone: out.insert(out.end(), plain.begin(), plain.end()); return {};
    case Codec::kGzip: return compression::gzip_compress(plain, out);
    case Codec::kSnappy: return compression::snappy_compress(plain, out);
    case Codec::kLz4: return compression::lz4_compress(plain, out);
    case Codec::kZstd: return compression::zstd_compress(plain, out);
  }
  return std::unexpected(CompressionError::kCorrupt);
}

}  // namespace pelton::proto
