// What each codec's file gives to compression.cc. Nothing else includes this.
#pragma once

#include <memory>
#include <vector>

#include "proto/compression.h"

namespace pelton::proto::compression {

using ReadResult = Result<size_t, CompressionError>;

// A pull decoder over bytes it does not own.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // `into` is not empty. Returns bytes produced (> 0), 0 at the end, or an error, after which the
  // decoder is not asked again.
  virtual ReadResult read(MutableBytes into) = 0;
};

std::unique_ptr<Decoder> gzip_decoder(Bytes compressed);
// A snappy block is decoded whole, so its decoder must know the limit itself.
std::unique_ptr<Decoder> snappy_decoder(Bytes compressed, size_t max_output);
std::unique_ptr<Decoder> lz4_decoder(Bytes compressed);
std::unique_ptr<Decoder> zstd_decoder(Bytes compressed);

Result<void, CompressionError> gzip_compress(Bytes plain, std::vector<uint8_t>& out);
Result<void, CompressionError> snappy_compress(Bytes plain, std::vector<uint8_t>& out);
Result<void, CompressionError> lz4_compress(Bytes plain, std::vector<uint8_t>& out);
Result<void, CompressionError> zstd_compress(Bytes plain, std::vector<uint8_t>& out);

}  // namespace pelton::proto::compression
