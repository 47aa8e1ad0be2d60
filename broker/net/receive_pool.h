// ReceivePool: memory for the frames of one shard: leases of the Io for small ones, buffers of the shard's
// pool for large ones, and for those that stay while leases are scarce.
//
// Owner shard: one. Buffers grow only as bytes arrive: an announced size costs nothing. When the pool's
// limit is reached acquire fails and the connection stops reading until the pool lets it try again.
#pragma once

#include <cstddef>

#include "broker/net/frame_hold.h"
#include "reactor/buffer_pool.h"
#include "reactor/io.h"

namespace pelton::broker {

class ReceivePool {
 public:
  ReceivePool(Io& io, BufferPool& buffers) : io_(io), buffers_(buffers) {}
  ~ReceivePool();

  // Wraps what the Io has lent.
  FrameHold adopt(const Lease& lease);
  // A lease or a buffer of at least `capacity` bytes; empty when the limit does not allow it.
  FrameHold acquire(size_t capacity);
  // Less than half of what the limit allows is in use.
  bool has_plenty() const { return buffers_.used_bytes() < buffers_.limit_bytes() / 2; }
  void wait(BufferWaiter& waiter) { buffers_.wait(waiter); }

 private:
  friend class FrameHold;

  FrameBlock* empty_block();
  void release(FrameBlock* block);

  Io& io_;
  BufferPool& buffers_;
  FrameBlock* free_ = nullptr;
};

}  // namespace pelton::broker
