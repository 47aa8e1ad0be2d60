// ReceivePool: memory for the frames of one shard: leases of the Io for small ones, buffers of the shard's
// pool for large ones, and for those that stay while leases are scarce.
//
// Owner shard: one. Buffers grow only as bytes arrive: an announced size costs nothing. When the pool's
// limit is reached acquire fails and the connection stops reading until the pool lets it try again.
// Invariants: frames that grow never wait for each other alone: one at a time, until it is whole, may pass the
// limit, by one frame of the largest size. What large frames take leaves a part of the limit to small ones.
#pragma once

#include <cstddef>
#include <optional>

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
  // For `grower`, whose frame cannot go on otherwise: empty while another passes the limit, or what another has
  // passed it by is still in use.
  FrameHold acquire_beyond(size_t capacity, const void* grower);
  // Its frame is whole, or given up.
  void end_growing(const void* grower) {
    if (grower_ == grower) grower_ = nullptr;
  }
  // Less than half of what the limit allows is in use.
  bool has_plenty() const { return buffers_.used_bytes() < buffers_.limit_bytes() / 2; }
  void wait(BufferWaiter& waiter) { buffers_.wait(waiter); }

 private:
  friend class FrameHold;
  static constexpr size_t kSmallFrame = 1024 * 1024;

  FrameBlock* empty_block();
  FrameHold hold(std::optional<Buffer> buffer);
  void release(FrameBlock* block);

  Io& io_;
  BufferPool& buffers_;
  FrameBlock* free_ = nullptr;
  const void* grower_ = nullptr;  // the one that may pass the limit
};

}  // namespace pelton::broker
