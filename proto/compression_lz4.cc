#include <lz4frame.h>

#include <algorithm>

#include "proto/compression_codecs.h"

namespace pelton::proto::compression {
namespace {

class Lz4Decoder final : public Decoder {
 public:
  Lz4Decoder() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
  }
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }

  void reset(Bytes compressed, size_t) override {
    left_ = compressed;
    ended_ = false;
    if (context_ != nullptr) LZ4F_resetDecompressionContext(context_);
  }

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

// Kafka's Java reader takes independent blocks only.
class Lz4Encoder final : public Encoder {
 public:
  Lz4Encoder() {
    preferences_.frameInfo.blockSizeID = LZ4F_max64KB;
    preferences_.frameInfo.blockMode = LZ4F_blockIndependent;
    if (LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
  }
  Lz4Encoder(const Lz4Encoder&) = delete;
  Lz4Encoder& operator=(const Lz4Encoder&) = delete;
  ~Lz4Encoder() override { LZ4F_freeCompressionContext(context_); }

  WriteResult reset(const CompressionLevels& levels, Output& out) override {
    if (context_ == nullptr) return std::unexpected(CompressionError::kOutOfMemory);
    // 3 is the library's first level of high compression; below it would be fast again.
    constexpr int32_t kLeastHigh = 3;
    preferences_.compressionLevel =
        levels.lz4 == CompressionLevels{}.lz4 ? 0 : std::max(levels.lz4, kLeastHigh);
    MutableBytes into = out.room(LZ4F_HEADER_SIZE_MAX);
    return written(LZ4F_compressBegin(context_, into.data(), into.size(), &preferences_), out);
  }
  WriteResult write(Bytes plain, Output& out) override {
    while (!plain.empty()) {
      Bytes part = plain.first(std::min(plain.size(), kPart));
      plain = plain.subspan(part.size());
      MutableBytes into = out.room(LZ4F_compressBound(part.size(), &preferences_));
      size_t size = LZ4F_compressUpdate(context_, into.data(), into.size(), part.data(), part.size(), nullptr);
      if (auto done = written(size, out); !done) return done;
    }
    return {};
  }
  WriteResult finish(Output& out) override {
    MutableBytes into = out.room(LZ4F_compressBound(0, &preferences_));
    return written(LZ4F_compressEnd(context_, into.data(), into.size(), nullptr), out);
  }

 private:
  static constexpr size_t kPart = 64 * 1024;

  static WriteResult written(size_t size, Output& out) {
    if (LZ4F_isError(size)) return std::unexpected(CompressionError::kOutOfMemory);
    return out.take(size);
  }

  LZ4F_preferences_t preferences_{};
  LZ4F_cctx* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Decoder> make_lz4_decoder() { return std::make_unique<Lz4Decoder>(); }
std::unique_ptr<Encoder> make_lz4_encoder() { return std::make_unique<Lz4Encoder>(); }

}  // namespace pelton::proto::compression
