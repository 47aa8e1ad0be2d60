// UringBuffers: the receive buffers that a ring lends out when bytes arrive (a provided-buffer ring).
//
// The kernel takes buffers in the order in which they were given to it, so it is given only as many as it
// takes between two polls; the others lie on a stack, and the one that was used last, still warm in the
// core's cache, is the next.
//
// Owner shard: that of its ring. Lifetime: unregistered with the ring, so it is destroyed after it.
// Invariant: each buffer is free, the kernel's, or on loan to one lease. Memory is virtual until first used.
#pragma once

#include <cstdint>
#include <optional>
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
  // Gives the kernel what it may need until the next call. Before each poll.
  void refill();
  // The kernel has received `bytes` into the buffer.
  Lease taken(uint32_t id, uint32_t bytes);
  // A receive found none: more at once from now on.
  void ran_out();
  // A free one without a receive; nullopt when they are scarce.
  std::optional<Lease> take();
  // The last quarter.
  bool scarce() const { return free_.size() + given_ <= count_ / 4; }
  void release(const Lease& lease);

  uint32_t given() const { return given_; }

 private:
  static constexpr uint32_t kLeastGiven = 2;
  // So many polls without need until fewer are given again.
  static constexpr uint32_t kCalmPolls = 1024;

  Lease lend(uint32_t id, uint32_t bytes);

  io_uring_buf_ring* ring_ = nullptr;
  size_t ring_bytes_ = 0;
  uint8_t* memory_ = nullptr;
  uint32_t count_ = 0;
  uint32_t size_ = 0;
  std::vector<uint16_t> free_;  // the last one was used last
  std::vector<bool> lent_;
  uint32_t given_ = 0;          // to the kernel and not taken
  uint32_t wanted_ = kLeastGiven;
  uint32_t most_taken_ = 0;     // between two refills, lately
  uint32_t taken_ = 0;          // since the last refill
  uint32_t polls_ = 0;
};

}  // namespace pelton
