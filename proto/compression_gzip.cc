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
  explicit GzipDecoder(Bytes compressed) : left_(compressed) {
    ready_ = inflateInit2(&stream_, kGzipWindowBits);
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override {
    if (ready_ == Z_OK) inflateEnd(&stream_);
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

}  // namespace

std::unique_ptr<Decoder> gzip_decoder(Bytes compressed) {
  return std::make_unique<GzipDecoder>(compressed);
}

Result<void, CompressionError> gzip_compress(Bytes plain, std::vector<uint8_t>& out) {
  z_stream stream{};
  constexpr int kMemoryLevel = 8;  // zlib's default
  int code = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                          Z_DEFAULT_STRATEGY);
  if (code != Z_OK) return std::unexpected(error_of(code));
  size_t start = out.size();
  size_t used = 0;
  out.resize(start + deflateBound(&stream, plain.size()));
  do {
    stream.next_in = const_cast<Bytef*>(plain.data());
    stream.avail_in = part_of(plain.size());
    stream.next_out = out.data() + start + used;
    stream.avail_out = part_of(out.size() - start - used);
    uInt input = stream.avail_in;
    uInt room = stream.avail_out;
    code = deflate(&stream, input == plain.size() ? Z_FINISH : Z_NO_FLUSH);
    plain = plain.subspan(input - stream.avail_in);
    used += room - stream.avail_out;
  } while (code == Z_OK);
  deflateEnd(&stream);
  out.resize(start + (code == Z_STREAM_END ? used : 0));
  if (code != Z_STREAM_END) return std::unexpected(error_of(code));
  return {};
}

}  // namespace pelton::proto::compression
