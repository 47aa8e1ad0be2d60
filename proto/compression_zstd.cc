#include <optional>

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
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ != nullptr)
      ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kZstdMaxWindowLog);
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

  void reset(Bytes compressed, size_t) override {
    input_ = {compressed.data(), compressed.size(), 0};
    in_frame_ = false;
    if (context_ != nullptr) ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
  }

  ReadResult read(MutableBytes into) override {
    if (context_ == nullptr) return std::unexpected(CompressionError::kOutOfMemory);
    while (in_frame_ || input_.pos < input_.size) {
      if (!in_frame_) begin_frame();
      ZSTD_outBuffer output{into.data(), into.size(), 0};
      size_t before = input_.pos;
      size_t hint = ZSTD_decompressStream(context_, &output, &input_);
      if (ZSTD_isError(hint)) return std::unexpected(error_of(hint));
      in_frame_ = hint != 0;
      produced_ += output.pos;
      if (!in_frame_ && announced_ && produced_ != *announced_) return std::unexpected(CompressionError::kCorrupt);
      if (output.pos > 0) return output.pos;
      if (in_frame_ && input_.pos == before) return std::unexpected(CompressionError::kTruncated);
    }
    return 0;
  }

 private:
  // The library holds a frame's size against what it announced, but for one whose last block is empty.
  void begin_frame() {
    const uint8_t* at = static_cast<const uint8_t*>(input_.src) + input_.pos;
    unsigned long long size = ZSTD_getFrameContentSize(at, input_.size - input_.pos);
    announced_.reset();
    if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR) announced_ = size;
    produced_ = 0;
  }

  ZSTD_inBuffer input_{};
  std::optional<uint64_t> announced_;
  uint64_t produced_ = 0;  // of the frame
  ZSTD_DCtx* context_;
  bool in_frame_ = false;
};

class ZstdEncoder final : public Encoder {
 public:
  ZstdEncoder() : context_(ZSTD_createCCtx()) {}
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;
  ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }

  WriteResult reset(const CompressionLevels& levels, Output&) override {
    if (context_ == nullptr) return std::unexpected(CompressionError::kOutOfMemory);
    ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
    size_t set = ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, levels.zstd);
    if (ZSTD_isError(set)) return std::unexpected(error_of(set));
    return {};
  }
  WriteResult write(Bytes plain, Output& out) override { return feed(plain, ZSTD_e_continue, out); }
  WriteResult finish(Output& out) override { return feed({}, ZSTD_e_end, out); }

 private:
  WriteResult feed(Bytes plain, ZSTD_EndDirective end, Output& out) {
    ZSTD_inBuffer input{plain.data(), plain.size(), 0};
    for (;;) {
      MutableBytes into = out.room(ZSTD_CStreamOutSize() / 4);
      ZSTD_outBuffer output{into.data(), into.size(), 0};
      size_t left = ZSTD_compressStream2(context_, &output, &input, end);
      if (ZSTD_isError(left)) return std::unexpected(error_of(left));
      if (auto taken = out.take(output.pos); !taken) return taken;
      if (end == ZSTD_e_end ? left == 0 : input.pos == input.size) return {};
    }
  }

  ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder() { return std::make_unique<ZstdDecoder>(); }
std::unique_ptr<Encoder> make_zstd_encoder() { return std::make_unique<ZstdEncoder>(); }

}  // namespace pelton::proto::compression
