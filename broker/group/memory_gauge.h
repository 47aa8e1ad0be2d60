// MemoryGauge: about how much the groups of a shard keep in memory, and how much they may. Above the limit
// requests that would make it more are turned away; what a log holds is loaded in any case.
//
// Owner shard: that of its groups, which it outlives.
#pragma once

#include <cstddef>

#include "reactor/base/check.h"

namespace pelton::broker::group {

// What an entry of a map takes beside its content, about.
inline constexpr size_t kNodeBytes = 64;

class MemoryGauge {
 public:
  // Told when something is turned away: what nobody needs should go.
  class Relief {
   public:
    virtual void memory_is_short() = 0;

   protected:
    ~Relief() = default;
  };

  explicit MemoryGauge(size_t limit, Relief* relief = nullptr) : limit_(limit), relief_(relief) {}
  MemoryGauge(const MemoryGauge&) = delete;
  MemoryGauge& operator=(const MemoryGauge&) = delete;

  size_t used() const { return used_; }
  size_t limit() const { return limit_; }
  // Whether a request may add `bytes`.
  bool admits(size_t bytes) {
    if (bytes == 0 || (used_ < limit_ && bytes <= limit_ - used_)) return true;
    if (relief_ != nullptr) relief_->memory_is_short();
    return false;
  }

  void add(size_t bytes) { used_ += bytes; }
  void take_off(size_t bytes) {
    CHECK(bytes <= used_, "memory is taken off once");
    used_ -= bytes;
  }

 private:
  const size_t limit_;
  Relief* const relief_;
  size_t used_ = 0;
};

// One object's share of a gauge; gone with the object.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryGauge& gauge) : gauge_(gauge) {}
  ~MemoryCharge() { gauge_.take_off(bytes_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  size_t bytes() const { return bytes_; }
  void set(size_t bytes) {
    gauge_.take_off(bytes_);
    gauge_.add(bytes_ = bytes);
  }

 private:
  MemoryGauge& gauge_;
  size_t bytes_ = 0;
};

}  // namespace pelton::broker::group
