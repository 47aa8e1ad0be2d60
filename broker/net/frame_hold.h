// FrameBlock and FrameHold: the memory that received bytes lie in, counted so that several requests of
// one receive buffer may end in any order.
//
// Owner shard: the connection's; the count is not atomic, holds are dropped on the home shard only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "reactor/base/bytes.h"
#include "reactor/buffer_pool.h"
#include "reactor/io.h"

namespace pelton::broker {

class ReceivePool;

struct FrameBlock {
  uint8_t* data = nullptr;
  size_t capacity = 0;
  bool is_lease() const { return !buffer; }

  uint32_t holds = 0;
  Lease lease;    // lent by the Io, unless:
  Buffer buffer;  // of the shard's pool
  ReceivePool* pool = nullptr;
  FrameBlock* next_free = nullptr;
};

class FrameHold {
 public:
  FrameHold() = default;
  explicit FrameHold(FrameBlock* block) : block_(block) {
    if (block_ != nullptr) ++block_->holds;
  }
  FrameHold(const FrameHold& other) : FrameHold(other.block_) {}
  FrameHold(FrameHold&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  FrameHold& operator=(FrameHold other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~FrameHold() { reset(); }

  FrameBlock* get() const { return block_; }
  FrameBlock* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }
  void reset();

 private:
  FrameBlock* block_ = nullptr;
};

}  // namespace pelton::broker
