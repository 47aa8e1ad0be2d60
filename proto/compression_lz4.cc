#include <lz4frame.h>

#include "proto/compression_codecs.h"

namespace pelton::proto::compression {
namespace {

class Lz4Decoder final : public Decoder {
 public:
  explicit Lz4Decoder(Bytes compressed) : left_(compressed) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
  }
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }

  ReadResult read(MutableBytes into) override {
    if (context_ == nullptr) return std::unexpected(CompressionError::kOutOfMemory);
    while (!ended_) {
      size_t produced = into.size();
      size_t consumed = left_.size();
      size_t hint = LZ4F_decompress(context_, into.data(), &produced, left_.data(), &consumed, nullptr);
      if (LZ4F_isError(hint)) return std::unexpected(CompressionError::kCorrupt);
      left_ = left_.subspan(consumed);
      ended_ = hint == 0;
      if (produced > 0) return produced;
      if (!ended_ && consumed == 0) return std::unexpected(CompressionError::kTruncated);
    }
    return 0;
  }

 private:
  Bytes left_;
  LZ4F_dctx* context_ = nullptr;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Decoder> lz4_decoder(Bytes compressed) {
  return std::make_unique<Lz4Decoder>(compressed);
}

// Kafka's Java reader takes independent blocks only.
Result<void, CompressionError> lz4_compress(Bytes plain, std::vector<uint8_t>& out) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  size_t start = out.size();
  out.resize(start + LZ4F_compressFrameBound(plain.size(), &preferences));
  size_t size = LZ4F_compressFrame(out.data() + start, out.size() - start, plain.data(), plain.size(),
                                   &preferences);
  bool failed = LZ4F_isError(size) != 0;
  out.resize(start + (failed ? 0 : size));
  if (failed) return std::unexpected(CompressionError::kOutOfMemory);
  return {};
}

}  // namespace pelton::proto::compression
