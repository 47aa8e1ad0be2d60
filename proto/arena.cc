#include "proto/arena.h"

#include <algorithm>

namespace pelton::proto {

Arena::~Arena() {
  while (!chunks_.empty()) drop_last_chunk();
}

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
  return chunks_[current_].memory + start;
}

// Goes on in a chunk with `size` free bytes. A kept chunk that is too small gives way, with those
// behind it: this happens while the arena's needs still change.
void Arena::next_chunk(size_t size) {
  size_t next = chunks_.empty() ? 0 : current_ + 1;
  if (next < chunks_.size() && chunks_[next].size < size)
    while (chunks_.size() > next) drop_last_chunk();
  if (next == chunks_.size()) {
    size_t bytes = std::max(size, std::clamp(reserved_, kFirstChunk, kLargestChunk));
    chunks_.push_back({new std::byte[bytes], bytes});
    reserved_ += bytes;
  }
  current_ = next;
  at_ = 0;
}

void Arena::drop_last_chunk() {
  reserved_ -= chunks_.back().size;
  delete[] chunks_.back().memory;
  chunks_.pop_back();
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
  while (reserved_ > kKeptBytes) drop_last_chunk();
}

}  // namespace pelton::proto
