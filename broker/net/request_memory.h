// RequestMemory: the budget for what one shard's requests are made into: decoded arrays, handlers' state and
// answers that have not left. (Their frames have one of their own: BufferPool.)
//
// It is charged after the fact, so it is passed by at most what the requests take that are begun before that is
// seen: while it is short a connection begins a request only when it has no other, and a small one.
// Owner shard: one. Lifetime: outlives the requests and who waits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "reactor/buffer_pool.h"
#include "reactor/loop.h"

namespace pelton::broker {

class RequestMemory {
 public:
  // What decoding may take when nothing is left.
  static constexpr size_t kLeast = 64 * 1024;

  RequestMemory(Loop& loop, size_t limit) : loop_(loop), limit_(limit) {}

  // What was charged so far becomes `bytes`.
  void charge(size_t& charged, size_t bytes);
  bool is_short() const { return used_ >= limit_; }
  // What decoding one more request may take.
  size_t left() const { return std::max(limit_ - std::min(used_, limit_), kLeast); }
  // In line for being told, once, that it is short no longer.
  void wait(BufferWaiter& waiter) { waiters_.push_back(waiter); }

  size_t used_bytes() const { return used_; }
  size_t limit_bytes() const { return limit_; }

 private:
  Loop& loop_;
  size_t limit_;
  size_t used_ = 0;
  IntrusiveList<BufferWaiter, BufferTag> waiters_;
};

}  // namespace pelton::broker
