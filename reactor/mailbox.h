// Mailboxes: one single-producer single-consumer ring of Message pointers for each ordered pair of
// shards, and the flag that says whether a shard sleeps.
//
// Owner: whoever makes the shards; outlives them. push(from, to) is called by shard `from` only, pop
// and the sleep calls by shard `to` only.
// Invariant: no wake is lost. The sender publishes and then reads the flag; the sleeper sets the flag
// and then reads the rings; all four are sequentially consistent, so at least one of the two sees the
// other.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "reactor/base/check.h"
#include "reactor/io.h"
#include "reactor/shard.h"

namespace pelton {

inline constexpr size_t kCacheLine = 64;

// A bounded queue between two threads. Capacity is a power of two.
class MailRing {
 public:
  explicit MailRing(size_t capacity)
      : mask_(capacity - 1), slots_(std::make_unique_for_overwrite<Message*[]>(capacity)) {
    CHECK(std::has_single_bit(capacity), "capacity is a power of two");
  }

  // Producer. False = full.
  bool push(Message& message) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ > mask_) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail - seen_head_ > mask_) return false;
    }
    slots_[tail & mask_] = &message;
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  // Consumer. nullptr = empty.
  Message* pop() {
    uint64_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head == seen_tail_) return nullptr;
    }
    Message* message = slots_[head & mask_];
    head_.store(head + 1, std::memory_order_release);
    return message;
  }

  // Consumer.
  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_seq_cst);
  }

 private:
  // Written by the producer; its guess of the other end spares it the other's cache line.
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};
  uint64_t seen_head_ = 0;
  // Written by the consumer.
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};
  uint64_t seen_tail_ = 0;
  // Written by nobody.
  alignas(kCacheLine) const uint64_t mask_;
  const std::unique_ptr<Message*[]> slots_;
};

class Mailboxes {
 public:
  static constexpr size_t kDefaultCapacity = 256;

  explicit Mailboxes(ShardId count, size_t capacity = kDefaultCapacity)
      : count_(count), shards_(std::make_unique<Sleeper[]>(count)) {
    rings_.reserve(size_t{count} * count);
    for (size_t i = 0; i < size_t{count} * count; ++i)
      rings_.push_back(std::make_unique<MailRing>(capacity));
  }

  ShardId count() const { return count_; }

  // Whom to wake for shard `to`. Called before any thread runs.
  void attach(ShardId to, Io& io) { shards_[to].io = &io; }

  bool push(ShardId from, ShardId to, Message& message) { return ring(from, to).push(message); }
  Message* pop(ShardId from, ShardId to) { return ring(from, to).pop(); }

  // After one or more pushes.
  void wake_if_asleep(ShardId to) {
    Sleeper& shard = shards_[to];
    if (shard.asleep.load(std::memory_order_seq_cst) &&
        shard.asleep.exchange(false, std::memory_order_acq_rel))
      shard.io->wake();
  }

  // Announces that `self` is about to sleep; false = mail is there, do not.
  bool prepare_sleep(ShardId self) {
    shards_[self].asleep.store(true, std::memory_order_seq_cst);
    for (ShardId from = 0; from < count_; ++from) {
      if (ring(from, self).empty()) continue;
      awake(self);
      return false;
    }
    return true;
  }
  void awake(ShardId self) {
    std::atomic<bool>& asleep = shards_[self].asleep;
    if (asleep.load(std::memory_order_relaxed)) asleep.store(false, std::memory_order_relaxed);
  }

 private:
  struct alignas(kCacheLine) Sleeper {
    std::atomic<bool> asleep{false};
    Io* io = nullptr;
  };

  MailRing& ring(ShardId from, ShardId to) { return *rings_[size_t{from} * count_ + to]; }

  ShardId count_;
  std::unique_ptr<Sleeper[]> shards_;
  std::vector<std::unique_ptr<MailRing>> rings_;
};

}  // namespace pelton
