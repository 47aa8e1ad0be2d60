// ReceivePool: memory for frames of one shard: leases of the Io for small ones, own buffers for large
// ones, within a budget.
//
// Owner shard: one. Own buffers are charged by what they can hold, and grow only as bytes arrive: an
// announced size costs nothing. When the budget is spent acquire fails and the connection stops reading
// until on_freed tells it to try again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/net/frame_hold.h"
#include "reactor/io.h"

namespace pelton::broker {

// Waits for budget; told once when some is free again.
struct BudgetTag;
struct BudgetWaiter : ListHook<BudgetTag> {
  void* owner = nullptr;
  void (*freed)(void* owner) = nullptr;
};

class ReceivePool {
 public:
  ReceivePool(Io& io, size_t budget_bytes) : io_(io), budget_(budget_bytes) {}
  ~ReceivePool();

  // Wraps what a receive lent.
  FrameHold adopt(const Lease& lease);
  // A buffer of at least `capacity` bytes; empty when the budget does not allow it.
  FrameHold acquire(size_t capacity);
  // A larger buffer with the first `used` bytes of `from`; empty when the budget does not allow it.
  FrameHold grow(const FrameHold& from, size_t used, size_t capacity);
  void wait_for_budget(BudgetWaiter& waiter) { waiters_.push_back(waiter); }

  size_t used_bytes() const { return used_; }
  size_t budget_bytes() const { return budget_; }

 private:
  friend class FrameHold;
  static constexpr int kClasses = 8;                    // 32 KiB, 64 KiB, ... 4 MiB
  static constexpr size_t kSmallest = 32 * 1024;
  static constexpr size_t kKeptBytes = 8 * 1024 * 1024;  // free buffers kept for the next frame

  static int class_of(size_t capacity);
  FrameBlock* empty_block();
  void release(FrameBlock* block);
  void wake_waiters();

  Io& io_;
  size_t budget_;
  size_t used_ = 0;
  size_t kept_ = 0;
  FrameBlock* free_[kClasses] = {};
  FrameBlock* free_shells_ = nullptr;
  IntrusiveList<BudgetWaiter, BudgetTag> waiters_;
};

}  // namespace pelton::broker
