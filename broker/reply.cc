#include "broker/reply.h"

#include "proto/frame.h"

namespace pelton::broker {
namespace {

constexpr size_t kKeptBuffer = 64 * 1024;

}  // namespace

size_t Reply::external_bytes() const {
  size_t bytes = 0;
  for (const ReplyRange& range : ranges_) bytes += range.length;
  return bytes;
}

MutableBytes Reply::make_room(size_t body_size, int16_t api_key, int16_t version) {
  frame_bytes_ = proto::response_header_size(api_key, version) + body_size;
  bytes_used_ = proto::kFrameSizeBytes + frame_bytes_ - external_bytes();
  if (capacity_ < bytes_used_) {
    // The message fills all of it.
    buffer_ = std::make_unique_for_overwrite<uint8_t[]>(bytes_used_);
    capacity_ = bytes_used_;
  }
  return {buffer_.get(), bytes_used_};
}

void Reply::write_head(proto::WireWriter& out, int16_t api_key, int16_t version,
                       int32_t correlation_id) {
  out.write_i32(static_cast<int32_t>(frame_bytes_));
  proto::write_response_header(out, api_key, version, correlation_id);
}

void Reply::end(const proto::WireWriter& out) {
  CHECK(out.written() == bytes_used_, "a response's size() and encode() disagree");
  holes_.assign(out.holes().begin(), out.holes().end());
}

uint64_t Reply::total_bytes() const { return bytes_used_ + external_bytes(); }

void Reply::reset() {
  bytes_used_ = 0;
  holes_.clear();
  ranges_.clear();
  if (capacity_ > kKeptBuffer) {
    buffer_.reset();
    capacity_ = 0;
  }
}

}  // namespace pelton::broker
