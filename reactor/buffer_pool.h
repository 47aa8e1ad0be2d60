// BufferPool: large buffers by size class, for frames that outgrow a lease and for file ranges that are
// read before they are sent.
//
// Owner shard: one pool for each shard, on its thread. Lifetime: outlives its buffers and waiters.
// Invariants: buffers in use never exceed `limit` bytes, but by what was acquired with another; free ones kept for reuse never exceed `keep`.
// Memory is virtual until touched, so a buffer costs what arrived in it, not what was announced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/loop.h"

namespace pelton {

class BufferPool;

// Goes back to its pool when it is destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), memory_(std::exchange(other.memory_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }
  void reset();

  // At least as many bytes as were asked for.
  MutableBytes bytes() const { return memory_; }
  explicit operator bool() const { return pool_ != nullptr; }

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, MutableBytes memory) : pool_(pool), memory_(memory) {}

  BufferPool* pool_ = nullptr;
  MutableBytes memory_;
};

// Stands in line for a buffer; `retry` runs from the loop, once, when one may be had. Destroying or
// unlinking it leaves the line.
struct BufferTag;
struct BufferWaiter : ListHook<BufferTag> {
  explicit BufferWaiter(Completion on_retry) : retry(on_retry) {}
  Completion retry;
};

class BufferPool {
 public:
  static constexpr size_t kSmallest = 64 * 1024;
  static constexpr size_t kLargest = size_t{1} << 31;

  // limit: bytes in use at most. keep: free bytes kept at most.
  BufferPool(Loop& loop, size_t limit, size_t keep);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // nullopt: the limit is reached (or size is beyond kLargest, or the kernel has no memory).
  std::optional<Buffer> acquire(size_t size) { return acquire(size, limit_); }
  // With another limit for this one.
  std::optional<Buffer> acquire(size_t size, size_t limit);
  void wait(BufferWaiter& waiter) { waiters_.push_back(waiter); }

  size_t used_bytes() const { return used_; }
  size_t limit_bytes() const { return limit_; }
  size_t kept_bytes() const { return kept_; }

 private:
  friend class Buffer;
  static constexpr size_t kClasses = 16;  // 64 KiB ... 2 GiB

  void give_back(MutableBytes memory);

  Loop& loop_;
  size_t limit_;
  size_t keep_;
  size_t used_ = 0;
  size_t kept_ = 0;
  std::array<std::vector<uint8_t*>, kClasses> free_;
  IntrusiveList<BufferWaiter, BufferTag> waiters_;
};

}  // namespace pelton
