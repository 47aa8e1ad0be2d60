#include "reactor/buffer_pool.h"

#include <algorithm>
#include <bit>

#include <sys/mman.h>

#include "reactor/base/check.h"

namespace pelton {
namespace {

size_t class_of(size_t size) {
  return static_cast<size_t>(std::bit_width((size - 1) / BufferPool::kSmallest));
}
size_t class_size(size_t index) { return BufferPool::kSmallest << index; }

uint8_t* map(size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  pool_ = std::exchange(other.pool_, nullptr);
  memory_ = std::exchange(other.memory_, {});
  return *this;
}

void Buffer::reset() {
  if (pool_ != nullptr) pool_->give_back(memory_);
  pool_ = nullptr;
  memory_ = {};
}

BufferPool::BufferPool(Loop& loop, size_t limit, size_t keep)
    : loop_(loop), limit_(limit), keep_(keep) {}

BufferPool::~BufferPool() {
  CHECK(used_ == 0, "buffers outlive their pool");
  for (size_t index = 0; index < kClasses; ++index)
    for (uint8_t* memory : free_[index]) ::munmap(memory, class_size(index));
}

std::optional<Buffer> BufferPool::acquire(size_t size, size_t limit) {
  if (size > kLargest) return std::nullopt;
  size_t index = class_of(std::max(size, kSmallest));
  size_t bytes = class_size(index);
  if (bytes > limit - std::min(used_, limit)) return std::nullopt;
  uint8_t* memory;
  if (!free_[index].empty()) {
    memory = free_[index].back();
    free_[index].pop_back();
    kept_ -= bytes;
  } else {
    memory = map(bytes);
    if (memory == nullptr) return std::nullopt;
  }
  used_ += bytes;
  return Buffer(this, {memory, bytes});
}

void BufferPool::give_back(MutableBytes memory) {
  used_ -= memory.size();
  if (memory.size() <= keep_ - kept_) {
    free_[class_of(memory.size())].push_back(memory.data());
    kept_ += memory.size();
  } else {
    ::munmap(memory.data(), memory.size());
  }
  // All of them: the first may want more than there is, or have no use for it any more, and those behind
  // it would wait for a release that never comes. Who gets nothing lines up again, in the same order.
  while (!waiters_.empty()) {
    BufferWaiter& next = waiters_.front();
    waiters_.pop_front();
    loop_.post(next.retry);
  }
}

}  // namespace pelton
