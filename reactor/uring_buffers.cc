#include "reactor/uring_buffers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <sys/mman.h>

#include "reactor/base/check.h"

namespace pelton {
namespace {

void* map(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

UringBuffers::~UringBuffers() {
  if (ring_ != nullptr) ::munmap(ring_, ring_bytes_);
  if (memory_ != nullptr) ::munmap(memory_, size_t{count_} * size_);
}

Status UringBuffers::register_with(io_uring& ring, uint32_t count, uint32_t size) {
  CHECK(std::has_single_bit(count) && count <= 32768, "a power of two up to 32768");
  count_ = count;
  size_ = size;
  lent_.assign(count, false);
  ring_bytes_ = size_t{count} * sizeof(io_uring_buf);
  ring_ = static_cast<io_uring_buf_ring*>(map(ring_bytes_));
  memory_ = static_cast<uint8_t*>(map(size_t{count} * size));
  if (ring_ == nullptr || memory_ == nullptr) return sys_error(ENOMEM);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uint64_t>(ring_);
  registration.ring_entries = count;
  registration.bgid = kGroup;
  if (int result = io_uring_register_buf_ring(&ring, &registration, 0); result < 0)
    return sys_error(-result);
  io_uring_buf_ring_init(ring_);
  free_.reserve(count);
  for (uint32_t id = count; id-- > 0;) free_.push_back(static_cast<uint16_t>(id));
  refill();
  return {};
}

void UringBuffers::refill() {
  most_taken_ = std::max(most_taken_, std::exchange(taken_, 0));
  uint32_t needed = std::clamp(std::bit_ceil(2 * most_taken_), kLeastGiven, count_);
  bool calm = ++polls_ == kCalmPolls;
  if (calm) most_taken_ = 0;
  if (calm || needed > wanted_) {
    wanted_ = needed;
    polls_ = 0;
  }
  int added = 0;
  for (; given_ < wanted_ && !free_.empty(); ++given_) {
    uint16_t id = free_.back();
    free_.pop_back();
    io_uring_buf_ring_add(ring_, memory_ + size_t{id} * size_, size_, id,
                          io_uring_buf_ring_mask(count_), added++);
  }
  if (added > 0) io_uring_buf_ring_advance(ring_, added);
}

void UringBuffers::ran_out() {
  most_taken_ = std::max(most_taken_, wanted_);
}

Lease UringBuffers::lend(uint32_t id, uint32_t bytes) {
  lent_[id] = true;
  return {.data = memory_ + size_t{id} * size_, .size = bytes, .capacity = size_, .id = id};
}

Lease UringBuffers::taken(uint32_t id, uint32_t bytes) {
  CHECK(id < count_ && !lent_[id] && given_ > 0, "the kernel takes a buffer once");
  --given_;
  ++taken_;
  return lend(id, bytes);
}

std::optional<Lease> UringBuffers::take() {
  if (free_.empty() || scarce()) return std::nullopt;
  uint16_t id = free_.back();
  free_.pop_back();
  return lend(id, 0);
}

void UringBuffers::release(const Lease& lease) {
  CHECK(lease.id < count_ && lent_[lease.id], "a lease is given back once");
  lent_[lease.id] = false;
  free_.push_back(static_cast<uint16_t>(lease.id));
}

}  // namespace pelton
