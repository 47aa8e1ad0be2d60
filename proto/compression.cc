#include "proto/compression.h"

#include <algorithm>

#include "proto/compression_codecs.h"
#include "reactor/base/check.h"

namespace pelton::proto {
namespace {

using compression::Decoder;
using compression::Encoder;
using compression::Output;
using compression::ReadResult;
using compression::WriteResult;

class PlainDecoder final : public Decoder {
 public:
  void reset(Bytes bytes, size_t) override { left_ = bytes; }
  ReadResult read(MutableBytes into) override {
    size_t count = std::min(into.size(), left_.size());
    if (count > 0) std::memcpy(into.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return count;
  }

 private:
  Bytes left_;
};

class PlainEncoder final : public Encoder {
 public:
  WriteResult reset(const CompressionLevels&, Output&) override { return {}; }
  WriteResult write(Bytes plain, Output& out) override {
    if (plain.empty()) return {};
    std::memcpy(out.room(plain.size()).data(), plain.data(), plain.size());
    return out.take(plain.size());
  }
  WriteResult finish(Output&) override { return {}; }
};

// nullptr: no such codec.
std::unique_ptr<Decoder> make_decoder(Codec codec) {
  switch (codec) {
    case Codec::kNone: return std::make_unique<PlainDecoder>();
    case Codec::kGzip: return compression::make_gzip_decoder();
    case Codec::kSnappy: return compression::make_snappy_decoder();
    case Codec::kLz4: return compression::make_lz4_decoder();
    case Codec::kZstd: return compression::make_zstd_decoder();
  }
  return nullptr;
}

std::unique_ptr<Encoder> make_encoder(Codec codec) {
  switch (codec) {
    case Codec::kNone: return std::make_unique<PlainEncoder>();
    case Codec::kGzip: return compression::make_gzip_encoder();
    case Codec::kSnappy: return compression::make_snappy_encoder();
    case Codec::kLz4: return compression::make_lz4_encoder();
    case Codec::kZstd: return compression::make_zstd_encoder();
  }
  return nullptr;
}

// From the contexts, where one lies there, or a new one.
template <class Coder, class Make>
std::unique_ptr<Coder> take_coder(std::unique_ptr<Coder>* kept, Codec codec, Make make) {
  if (kept != nullptr && *kept != nullptr) return std::move(*kept);
  return make(codec);
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
    case CompressionError::kStopped: return "stopped";
  }
  return "?";
}

CodecContexts::CodecContexts(const std::atomic<bool>* stopping) : stopping_(stopping) {}
CodecContexts::~CodecContexts() = default;

bool CodecContexts::stopped(const CodecContexts* contexts) {
  return contexts != nullptr && contexts->stopping_ != nullptr &&
         contexts->stopping_->load(std::memory_order_relaxed);
}

DecompressStream::DecompressStream(Codec codec, Bytes compressed, size_t max_output, CodecContexts* contexts)
    : codec_(codec),
      contexts_(static_cast<uint8_t>(codec) < kCodecCount ? contexts : nullptr),
      allowed_(max_output) {
  auto* kept = contexts_ != nullptr ? &contexts_->decoders_[static_cast<uint8_t>(codec)] : nullptr;
  decoder_ = take_coder(kept, codec, &make_decoder);
  if (decoder_ == nullptr) {
    error_ = CompressionError::kCorrupt;
  } else {
    decoder_->reset(compressed, max_output);
  }
}

DecompressStream::~DecompressStream() {
  if (contexts_ != nullptr) contexts_->decoders_[static_cast<uint8_t>(codec_)] = std::move(decoder_);
}

ReadResult DecompressStream::fail(CompressionError error) {
  error_ = error;
  return std::unexpected(error);
}

ReadResult DecompressStream::read(MutableBytes into) {
  CHECK(!into.empty());
  if (error_) return std::unexpected(*error_);
  if (CodecContexts::stopped(contexts_)) return fail(CompressionError::kStopped);
  if (allowed_ == 0) return read_past_limit();
  ReadResult produced = decoder_->read(into.first(std::min(into.size(), allowed_)));
  if (!produced) return fail(produced.error());
  allowed_ -= *produced;
  return produced;
}

// The limit is reached: only the end of the stream is welcome.
ReadResult DecompressStream::read_past_limit() {
  uint8_t surplus;
  ReadResult produced = decoder_->read({&surplus, 1});
  if (!produced) return fail(produced.error());
  if (*produced > 0) return fail(CompressionError::kTooLarge);
  return produced;
}

CompressStream::CompressStream(Codec codec, const CompressionLevels& levels, std::vector<uint8_t>& out,
                               size_t max_output, CodecContexts* contexts)
    : codec_(codec),
      contexts_(static_cast<uint8_t>(codec) < kCodecCount ? contexts : nullptr),
      output_(std::make_unique<Output>(out, max_output)) {
  auto* kept = contexts_ != nullptr ? &contexts_->encoders_[static_cast<uint8_t>(codec)] : nullptr;
  encoder_ = take_coder(kept, codec, &make_encoder);
  if (encoder_ == nullptr) {
    error_ = CompressionError::kCorrupt;
  } else if (WriteResult begun = encoder_->reset(levels, *output_); !begun) {
    error_ = begun.error();
  }
}

CompressStream::~CompressStream() {
  if (output_ != nullptr) output_->end(/*keep=*/false);
  if (contexts_ != nullptr) contexts_->encoders_[static_cast<uint8_t>(codec_)] = std::move(encoder_);
}

WriteResult CompressStream::note(WriteResult result) {
  if (!result) error_ = result.error();
  return result;
}

// In parts, so that a stop is noticed inside a large batch.
WriteResult CompressStream::write(Bytes plain) {
  constexpr size_t kPart = 256 * 1024;
  if (error_) return std::unexpected(*error_);
  while (!plain.empty()) {
    if (CodecContexts::stopped(contexts_)) return note(std::unexpected(CompressionError::kStopped));
    Bytes part = plain.first(std::min(plain.size(), kPart));
    plain = plain.subspan(part.size());
    if (WriteResult written = note(encoder_->write(part, *output_)); !written) return written;
  }
  return {};
}

WriteResult CompressStream::finish() {
  if (error_) return std::unexpected(*error_);
  CHECK(output_ != nullptr, "a stream is finished once");
  WriteResult done = note(encoder_->finish(*output_));
  output_->end(done.has_value());
  output_.reset();
  return done;
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
  CompressStream stream(codec, {}, out, SIZE_MAX);
  if (auto written = stream.write(plain); !written) return written;
  return stream.finish();
}

}  // namespace pelton::proto
