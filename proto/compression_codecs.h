// What each codec's file gives to compression.cc. Nothing else includes this.
// Coders are made once and used for one stream after another: reset() begins each.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "proto/compression.h"

namespace pelton::proto::compression {

using ReadResult = Result<size_t, CompressionError>;
using WriteResult = Result<void, CompressionError>;

// A pull decoder over bytes it does not own.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // A snappy block is decoded whole, so its decoder must know the limit itself.
  virtual void reset(Bytes compressed, size_t max_output) = 0;
  // `into` is not empty. Returns bytes produced (> 0), 0 at the end, or an error, after which the
  // decoder is only reset.
  virtual ReadResult read(MutableBytes into) = 0;
};

// What an encoder appends to, with its limit.
class Output {
 public:
  Output(std::vector<uint8_t>& out, size_t limit) : out_(out), start_(out.size()), limit_(limit) {}

  // Room to write into, at least so much; what was not taken of an earlier room is in it.
  MutableBytes room(size_t at_least) {
    size_t end = start_ + used_ + at_least;
    if (out_.size() < end) out_.resize(std::max(end, out_.size() + out_.size() / 2));
    return MutableBytes(out_).subspan(start_ + used_);
  }
  WriteResult take(size_t written) {
    used_ += written;
    if (used_ > limit_) return std::unexpected(CompressionError::kTooLarge);
    return {};
  }
  // Ends with what was taken, or as it began.
  void end(bool keep) { out_.resize(start_ + (keep ? used_ : 0)); }

 private:
  std::vector<uint8_t>& out_;
  size_t start_;
  size_t limit_;
  size_t used_ = 0;
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual WriteResult reset(const CompressionLevels& levels, Output& out) = 0;
  virtual WriteResult write(Bytes plain, Output& out) = 0;
  virtual WriteResult finish(Output& out) = 0;
};

std::unique_ptr<Decoder> make_gzip_decoder();
std::unique_ptr<Decoder> make_snappy_decoder();
std::unique_ptr<Decoder> make_lz4_decoder();
std::unique_ptr<Decoder> make_zstd_decoder();

std::unique_ptr<Encoder> make_gzip_encoder();
std::unique_ptr<Encoder> make_snappy_encoder();
std::unique_ptr<Encoder> make_lz4_encoder();
std::unique_ptr<Encoder> make_zstd_encoder();

}  // namespace pelton::proto::compression
