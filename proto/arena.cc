#include "proto/arena.h"

#include <algorithm>

namespace pelton::proto {

void* Arena::allocate(size_t size, size_t alignment) {
  static_assert(alignof(std::max_align_t) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  size_t start = (at_ + alignment - 1) & ~(alignment - 1);
  size_t padding = start - at_;
  if (chunks_.empty() || start + size > chunks_[current_].size) {
    if (size > limit_ - used_) return nullptr;
    next_chunk(size);
    start = 0;
    padding = 0;
  }
  if (size + padding > limit_ - used_) return nullptr;
  used_ += size + padding;
  at_ = start + size;
  return chunks_[current_].memory.get() + start;
}

void Arena::next_chunk(size_t size) {
  size_t next = chunks_.empty() ? 0 : current_ + 1;
  if (next < chunks_.size() && chunks_[next].size < size) {
    reserved_ -= chunks_[next].size;
    chunks_[next] = {};
  }
  if (next == chunks_.size()) chunks_.emplace_back();
  if (chunks_[next].size == 0) {
    size_t grown = std::min(kLargestChunk, std::max(kFirstChunk, reserved_));
    size_t bytes = std::max(size, grown);
    chunks_[next] = {std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes};
    reserved_ += bytes;
  }
  current_ = next;
  at_ = 0;
}

Bytes Arena::copy(Bytes bytes) {
  if (bytes.empty()) return {};
  void* place = allocate(bytes.size(), 1);
  CHECK(place != nullptr, "arena limit");
  std::memcpy(place, bytes.data(), bytes.size());
  return {static_cast<const uint8_t*>(place), bytes.size()};
}

void Arena::reset(size_t limit) {
  limit_ = limit;
  used_ = 0;
  current_ = 0;
  at_ = 0;
  while (!chunks_.empty() && reserved_ > kKeptBytes) {
    reserved_ -= chunks_.back().size;
    chunks_.pop_back();
  }
}

}  // namespace pelton::proto
