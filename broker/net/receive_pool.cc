#include "broker/net/receive_pool.h"

#include <cstring>
#include <new>

#include "reactor/base/check.h"

namespace pelton::broker {

void FrameHold::reset() {
  if (block_ == nullptr) return;
  FrameBlock* block = std::exchange(block_, nullptr);
  if (--block->holds == 0) block->pool->release(block);
}

ReceivePool::~ReceivePool() {
  for (FrameBlock*& head : free_)
    while (head != nullptr) {
      FrameBlock* block = std::exchange(head, head->next_free);
      delete[] block->data;
      delete block;
    }
  while (free_shells_ != nullptr) delete std::exchange(free_shells_, free_shells_->next_free);
}

int ReceivePool::class_of(size_t capacity) {
  size_t size = kSmallest;
  for (int index = 0; index < kClasses; ++index, size *= 2)
    if (capacity <= size) return index;
  return -1;
}

FrameBlock* ReceivePool::empty_block() {
  if (free_shells_ == nullptr) {
    auto* block = new FrameBlock;
    block->pool = this;
    return block;
  }
  return std::exchange(free_shells_, free_shells_->next_free);
}

FrameHold ReceivePool::adopt(const Lease& lease) {
  FrameBlock* block = empty_block();
  block->data = lease.data;
  block->capacity = lease.size;
  block->leased = true;
  block->lease = lease;
  return FrameHold(block);
}

FrameHold ReceivePool::acquire(size_t capacity) {
  int index = class_of(capacity);
  size_t size = index < 0 ? capacity : kSmallest << index;
  if (size > budget_ - used_) return {};
  used_ += size;
  if (index >= 0 && free_[index] != nullptr) {
    kept_ -= size;
    return FrameHold(std::exchange(free_[index], free_[index]->next_free));
  }
  FrameBlock* block = empty_block();
  block->data = new uint8_t[size];
  block->capacity = size;
  block->leased = false;
  return FrameHold(block);
}

FrameHold ReceivePool::grow(const FrameHold& from, size_t used, size_t capacity) {
  CHECK(used <= from->capacity && capacity > used);
  FrameHold larger = acquire(capacity);
  if (larger) std::memcpy(larger->data, from->data, used);
  return larger;
}

void ReceivePool::release(FrameBlock* block) {
  if (block->leased) {
    io_.release(block->lease);
    block->next_free = std::exchange(free_shells_, block);
    return;
  }
  used_ -= block->capacity;
  int index = class_of(block->capacity);
  if (index >= 0 && kept_ + block->capacity <= kKeptBytes) {
    kept_ += block->capacity;
    block->next_free = std::exchange(free_[index], block);
  } else {
    delete[] block->data;
    block->data = nullptr;
    block->next_free = std::exchange(free_shells_, block);
  }
  wake_waiters();
}

void ReceivePool::wake_waiters() {
  // Those who wait again (the budget is spent again) go to the end of a new list, so this ends.
  IntrusiveList<BudgetWaiter, BudgetTag> woken;
  woken.swap(waiters_);
  while (!woken.empty()) {
    BudgetWaiter& waiter = woken.front();
    woken.pop_front();
    waiter.freed(waiter.owner);
  }
}

}  // namespace pelton::broker
