#include "storage/batch_reader.h"

#include <algorithm>
#include <cstring>

namespace pelton::storage {

bool HeaderReader::fill() {
  uint64_t left = end_ - position_;
  // Large batches lie far apart: more than the header would be read for nothing.
  uint64_t want = size_ >= kChunk ? proto::kBatchHeaderSize : kChunk;
  size_t bytes = static_cast<size_t>(std::min(left, want));
  Result<size_t> got = files_.pread(file_, MutableBytes(chunk_).first(bytes), position_);
  if (!got) {
    error_ = got.error();
    return false;
  }
  chunk_position_ = position_;
  chunk_size_ = *got;
  return true;
}

ReadStep HeaderReader::next() {
  position_ += size_;
  if (position_ >= end_) return ReadStep::kEnd;
  if (end_ - position_ < proto::kBatchHeaderSize) return ReadStep::kBad;
  bool in_chunk = position_ >= chunk_position_ &&
                  position_ + proto::kBatchHeaderSize <= chunk_position_ + chunk_size_;
  if (!in_chunk && !fill()) return ReadStep::kFailed;
  size_t at = static_cast<size_t>(position_ - chunk_position_);
  if (chunk_size_ - at < proto::kBatchHeaderSize) return ReadStep::kBad;
  header_ = Bytes(chunk_).subspan(at, proto::kBatchHeaderSize);
  Result<size_t, proto::BatchError> size = proto::peek_batch_size(header_);
  if (!size || *size > end_ - position_) {
    size_ = 0;
    return ReadStep::kBad;
  }
  size_ = static_cast<uint32_t>(*size);
  return ReadStep::kBatch;
}

// Makes `bytes` from position_ on contiguous in the buffer. They are known to be before end_.
bool BatchReader::have(size_t bytes) {
  if (filled_ - offset_ >= bytes) return true;
  if (filled_ > offset_) std::memmove(buffer_.data(), buffer_.data() + offset_, filled_ - offset_);
  filled_ -= offset_;
  offset_ = 0;
  uint64_t left = end_ - position_;
  size_t want = static_cast<size_t>(std::min<uint64_t>(left, std::max(bytes, read_ahead_)));
  if (buffer_.size() < want) buffer_.resize(want);
  Result<size_t> got = files_.pread(file_, MutableBytes(buffer_).subspan(filled_, want - filled_),
                                    position_ + filled_);
  if (!got) {
    error_ = got.error();
    return false;
  }
  filled_ += *got;
  if (filled_ < bytes) {
    // The file is shorter than its log was told.
    error_ = {EIO};
    return false;
  }
  return true;
}

ReadStep BatchReader::next() {
  position_ += size_;
  offset_ += size_;
  size_ = 0;
  if (position_ >= end_) return ReadStep::kEnd;
  uint64_t left = end_ - position_;
  if (left < proto::kBatchHeaderSize) return ReadStep::kBad;
  if (!have(proto::kBatchHeaderSize)) return ReadStep::kFailed;
  Result<size_t, proto::BatchError> size =
      proto::peek_batch_size(Bytes(buffer_).subspan(offset_, proto::kBatchHeaderSize));
  if (!size || *size > left) return ReadStep::kBad;
  if (!have(*size)) return ReadStep::kFailed;
  size_ = *size;
  return ReadStep::kBatch;
}

}  // namespace pelton::storage
