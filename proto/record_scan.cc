#include "proto/record_scan.h"

#include <algorithm>

#include "proto/varint.h"

namespace pelton::proto {

RecordScanner::RecordScanner(Codec codec, Bytes records, int32_t count, size_t max_output,
                             CodecContexts* contexts)
    : stream_(codec, records, max_output, contexts), count_(count) {}

bool RecordScanner::fail(RecordError error) {
  error_ = error;
  return false;
}

Result<void, RecordError> RecordScanner::status() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

// Makes the window hold enough for any number, or everything up to the end.
bool RecordScanner::fill() {
  while (!at_end_ && ready_.size() < kMaxVarlongSize) {
    if (!ready_.empty()) std::memmove(window_.data(), ready_.data(), ready_.size());
    auto produced = stream_.read(MutableBytes(window_).subspan(ready_.size()));
    if (!produced) {
      compression_error_ = produced.error();
      return fail(RecordError::kBadCompression);
    }
    at_end_ = *produced == 0;
    ready_ = Bytes(window_).first(ready_.size() + *produced);
  }
  return true;
}

bool RecordScanner::next(ScannedRecord& record) {
  if (error_ || !fill()) return false;
  if (count_ <= 0) return ready_.empty() ? false : fail(RecordError::kTrailingBytes);
  if (ready_.empty()) return fail(RecordError::kTruncated);
  int32_t length;
  if (!take_varint(ready_, length)) return fail(RecordError::kBadVarint);
  if (length <= 0) return fail(RecordError::kBadLength);
  record.size = length;
  body_left_ = static_cast<size_t>(length);
  --count_;
  return take_body(record);
}

bool RecordScanner::take_body(ScannedRecord& record) {
  if (!fill()) return false;
  if (ready_.empty()) return fail(RecordError::kBadLength);
  record.attributes = static_cast<int8_t>(ready_[0]);
  return skip(1) && take_number(record.timestamp_delta) && take_number(record.offset_delta) &&
         take_field(record.key_size, true) && take_field(record.value_size, true) &&
         take_headers() && (body_left_ == 0 || fail(RecordError::kSizeMismatch));
}

bool RecordScanner::take_headers() {
  int32_t count;
  if (!take_number(count)) return false;
  if (count < 0 || static_cast<size_t>(count) > body_left_) return fail(RecordError::kBadHeaderCount);
  int32_t size;
  for (int32_t i = 0; i < count; ++i)
    if (!take_field(size, false) || !take_field(size, true)) return false;
  return true;
}

// A number inside the current record's body.
template <class T>
bool RecordScanner::take_number(T& value) {
  if (!fill()) return false;
  Bytes body = ready_.first(std::min(ready_.size(), body_left_));
  size_t before = body.size();
  if (!take_varint(body, value)) return fail(RecordError::kBadVarint);
  size_t taken = before - body.size();
  ready_ = ready_.subspan(taken);
  body_left_ -= taken;
  return true;
}

bool RecordScanner::take_field(int32_t& size, bool nullable) {
  if (!take_number(size)) return false;
  if (size < 0) {
    size = -1;
    return nullable || fail(RecordError::kBadLength);
  }
  if (static_cast<size_t>(size) > body_left_) return fail(RecordError::kBadLength);
  return skip(static_cast<size_t>(size));
}

bool RecordScanner::skip(size_t count) {
  body_left_ -= count;
  while (count > 0) {
    if (!fill()) return false;
    if (ready_.empty()) return fail(RecordError::kBadLength);
    size_t part = std::min(count, ready_.size());
    ready_ = ready_.subspan(part);
    count -= part;
  }
  return true;
}

}  // namespace pelton::proto
