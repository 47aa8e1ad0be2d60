// UringBuffers: the receive buffers that a ring lends out when bytes arrive (a provided-buffer ring).
//
// Owner shard: that of its ring. Lifetime: unregistered with the ring, so it is destroyed after it.
// Invariant: each buffer is the kernel's, or on loan to one lease; never both. Memory is virtual until
// first used. The kernel takes buffers in the order in which they came back.
#pragma once

#include <cstdint>
#include <vector>

#include <liburing.h>

#include "reactor/base/result.h"
#include "reactor/io.h"

namespace pelton {

class UringBuffers {
 public:
  static constexpr unsigned kGroup = 1;

  UringBuffers() = default;
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;
  ~UringBuffers();

  // count: a power of two. Errors are errno values.
  Status register_with(io_uring& ring, uint32_t count, uint32_t size);

  uint32_t buffer_size() const { return size_; }
  Lease lend(uint32_t id, uint32_t bytes);
  void release(const Lease& lease);

 private:
  void give(uint32_t id);

  io_uring_buf_ring* ring_ = nullptr;
  size_t ring_bytes_ = 0;
  uint8_t* memory_ = nullptr;
  uint32_t count_ = 0;
  uint32_t size_ = 0;
  std::vector<bool> lent_;
};

}  // namespace pelton
