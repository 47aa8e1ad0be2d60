#include <zlib.h>

#include <algorithm>
#include <climits>

#include "proto/compression_codecs.h"

namespace pelton::proto::compression {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // the largest window, gzip framing
constexpr size_t kSmallestMember = 18;    // header 10, trailer 8

CompressionError error_of(int code) {
  return code == Z_MEM_ERROR ? CompressionError::kOutOfMemory : CompressionError::kCorrupt;
}

// zlib counts in unsigned int.
uInt part_of(size_t size) { return static_cast<uInt>(std::min<size_t>(size, UINT_MAX)); }

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { ready_ = inflateInit2(&stream_, kGzipWindowBits); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override {
    if (ready_ == Z_OK) inflateEnd(&stream_);
  }

  void reset(Bytes compressed, size_t) override {
    left_ = compressed;
    ended_ = false;
    if (ready_ == Z_OK) inflateReset(&stream_);
  }

  ReadResult read(MutableBytes into) override {
    if (ready_ != Z_OK) return std::unexpected(error_of(ready_));
    while (!ended_) {
      size_t produced = 0;
      int code = step(into, produced);
      if (code == Z_STREAM_END)
        start_next_member();
      else if (code == Z_BUF_ERROR)  // no progress: there is room for output, so input is missing
        return std::unexpected(CompressionError::kTruncated);
      else if (code != Z_OK)
        return std::unexpected(error_of(code));
      if (produced > 0) return produced;
    }
    return 0;
  }

 private:
  int step(MutableBytes into, size_t& produced) {
    stream_.next_in = const_cast<Bytef*>(left_.data());
    stream_.avail_in = part_of(left_.size());
    stream_.next_out = into.data();
    stream_.avail_out = part_of(into.size());
    uInt input = stream_.avail_in;
    uInt room = stream_.avail_out;
    int code = inflate(&stream_, Z_NO_FLUSH);
    left_ = left_.subspan(input - stream_.avail_in);
    produced = room - stream_.avail_out;
    return code;
  }

  void start_next_member() {
    bool another = left_.size() >= kSmallestMember && left_[0] == 0x1f && left_[1] == 0x8b &&
                   left_[2] == Z_DEFLATED;
    if (!another || inflateReset(&stream_) != Z_OK) ended_ = true;
  }

  Bytes left_;
  z_stream stream_{};
  int ready_;
  bool ended_ = false;
};

class GzipEncoder final : public Encoder {
 public:
  GzipEncoder() {
    constexpr int kMemoryLevel = 8;  // zlib's default
    ready_ = deflateInit2(&stream_, level_, Z_DEFLATED, kGzipWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY);
  }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;
  ~GzipEncoder() override {
    if (ready_ == Z_OK) deflateEnd(&stream_);
  }

  WriteResult reset(const CompressionLevels& levels, Output&) override {
    if (ready_ != Z_OK) return std::unexpected(error_of(ready_));
    deflateReset(&stream_);
    // Between two streams nothing is pending that a change of level would have to write out.
    if (levels.gzip != level_ && deflateParams(&stream_, levels.gzip, Z_DEFAULT_STRATEGY) == Z_OK)
      level_ = levels.gzip;
    return {};
  }
  WriteResult write(Bytes plain, Output& out) override {
    while (!plain.empty()) {
      Bytes part = plain.first(part_of(plain.size()));
      plain = plain.subspan(part.size());
      if (auto done = deflate_all(part, Z_NO_FLUSH, out); !done) return done;
    }
    return {};
  }
  WriteResult finish(Output& out) override { return deflate_all({}, Z_FINISH, out); }

 private:
  static constexpr size_t kRoom = 16 * 1024;

  // Until the input is used and, at the end, everything is written.
  WriteResult deflate_all(Bytes plain, int flush, Output& out) {
    stream_.next_in = const_cast<Bytef*>(plain.data());
    stream_.avail_in = static_cast<uInt>(plain.size());
    for (;;) {
      MutableBytes into = out.room(kRoom);
      uInt room = part_of(into.size());
      stream_.next_out = into.data();
      stream_.avail_out = room;
      int code = deflate(&stream_, flush);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return std::unexpected(error_of(code));
      if (auto taken = out.take(room - stream_.avail_out); !taken) return taken;
      if (flush == Z_FINISH ? code == Z_STREAM_END : stream_.avail_out > 0) return {};
    }
  }

  z_stream stream_{};
  int level_ = Z_DEFAULT_COMPRESSION;
  int ready_;
};

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder() { return std::make_unique<GzipDecoder>(); }
std::unique_ptr<Encoder> make_gzip_encoder() { return std::make_unique<GzipEncoder>(); }

}  // namespace pelton::proto::compression
