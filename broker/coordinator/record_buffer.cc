#include "broker/coordinator/record_buffer.h"

#include <algorithm>

namespace pelton::broker::coordinator {
namespace {

// Lengths, deltas and attributes of a record: at most 5 + 1 + 10 + 5 + 5 + 5 + 1 bytes.
constexpr size_t kRecordOverhead = 32;

}  // namespace

Bytes RecordBuffer::key(size_t index) const {
  const Entry& entry = entries_[index];
  return Bytes(bytes_).subspan(entry.at, entry.key_size);
}

std::optional<Bytes> RecordBuffer::value(size_t index) const {
  const Entry& entry = entries_[index];
  if (entry.value_size < 0) return std::nullopt;
  return Bytes(bytes_).subspan(entry.at + entry.key_size, static_cast<size_t>(entry.value_size));
}

size_t RecordBuffer::batch_bytes() const {
  return bytes_.size() + entries_.size() * kRecordOverhead;
}

size_t RecordBuffer::batch_bytes(size_t index) const {
  const Entry& entry = entries_[index];
  return entry.key_size + static_cast<size_t>(std::max(entry.value_size, 0)) + kRecordOverhead;
}

void RecordBuffer::clear() {
  bytes_.clear();
  entries_.clear();
}

}  // namespace pelton::broker::coordinator
