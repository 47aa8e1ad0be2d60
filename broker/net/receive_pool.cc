#include "broker/net/receive_pool.h"

#include <cstdint>
#include <utility>

namespace pelton::broker {

void FrameHold::reset() {
  if (block_ == nullptr) return;
  FrameBlock* block = std::exchange(block_, nullptr);
  if (--block->holds == 0) block->pool->release(block);
}

ReceivePool::~ReceivePool() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
}

FrameBlock* ReceivePool::empty_block() {
  if (free_ != nullptr) return std::exchange(free_, free_->next_free);
  auto* block = new FrameBlock;
  block->pool = this;
  return block;
}

FrameHold ReceivePool::adopt(const Lease& lease) {
  FrameBlock* block = empty_block();
  block->data = lease.data;
  block->capacity = lease.capacity;
  block->lease = lease;
  return FrameHold(block);
}

FrameHold ReceivePool::acquire(size_t capacity) {
  if (capacity <= io_.lease_bytes()) {
    if (auto lease = io_.lease()) return adopt(*lease);
  }
  size_t limit = buffers_.limit_bytes();
  return hold(buffers_.acquire(capacity, capacity <= kSmallFrame ? limit : limit - limit / 4));
}

FrameHold ReceivePool::acquire_beyond(size_t capacity, const void* grower) {
  if (grower_ != grower) {
    if (grower_ != nullptr || buffers_.used_bytes() > buffers_.limit_bytes()) return {};
    grower_ = grower;
  }
  return hold(buffers_.acquire(capacity, SIZE_MAX));
}

FrameHold ReceivePool::hold(std::optional<Buffer> buffer) {
  if (!buffer) return {};
  FrameBlock* block = empty_block();
  block->data = buffer->bytes().data();
  block->capacity = buffer->bytes().size();
  block->buffer = std::move(*buffer);
  return FrameHold(block);
}

void ReceivePool::release(FrameBlock* block) {
  if (block->is_lease()) {
    io_.release(block->lease);
  } else {
    block->buffer.reset();
  }
  block->next_free = std::exchange(free_, block);
}

}  // namespace pelton::broker
