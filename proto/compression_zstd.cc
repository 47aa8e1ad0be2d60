#include <zstd.h>
#include <zstd_errors.h>

#include "proto/compression_codecs.h"

namespace pelton::proto::compression {
namespace {

CompressionError error_of(size_t code) {
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge: return CompressionError::kWindowTooLarge;
    case ZSTD_error_memory_allocation: return CompressionError::kOutOfMemory;
    default: return CompressionError::kCorrupt;
  }
}

class ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(Bytes compressed)
      : input_{compressed.data(), compressed.size(), 0}, context_(ZSTD_createDCtx()) {
    if (context_ != nullptr)
      ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kZstdMaxWindowLog);
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

  ReadResult read(MutableBytes into) override {
    if (context_ == nullptr) return std::unexpected(CompressionError::kOutOfMemory);
    while (in_frame_ || input_.pos < input_.size) {
      ZSTD_outBuffer output{into.data(), into.size(), 0};
      size_t before = input_.pos;
      size_t hint = ZSTD_decompressStream(context_, &output, &input_);
      if (ZSTD_isError(hint)) return std::unexpected(error_of(hint));
      in_frame_ = hint != 0;
      if (output.pos > 0) return output.pos;
      if (in_frame_ && input_.pos == before) return std::unexpected(CompressionError::kTruncated);
    }
    return 0;
  }

 private:
  ZSTD_inBuffer input_;
  ZSTD_DCtx* context_;
  bool in_frame_ = false;
};

}  // namespace

std::unique_ptr<Decoder> zstd_decoder(Bytes compressed) {
  return std::make_unique<ZstdDecoder>(compressed);
}

Result<void, CompressionError> zstd_compress(Bytes plain, std::vector<uint8_t>& out) {
  size_t start = out.size();
  out.resize(start + ZSTD_compressBound(plain.size()));
  size_t size = ZSTD_compress(out.data() + start, out.size() - start, plain.data(), plain.size(),
                              ZSTD_CLEVEL_DEFAULT);
  bool failed = ZSTD_isError(size) != 0;
  out.resize(start + (failed ? 0 : size));
  if (failed) return std::unexpected(error_of(size));
  return {};
}

}  // namespace pelton::proto::compression
