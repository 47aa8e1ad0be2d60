// LatencyHistogram: how long something took, in buckets whose bounds are powers of two microseconds, so
// that recording is one bit count and one increment.
//
// Owner shard: one; copied whole when it is sampled.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pelton {

class LatencyHistogram {
 public:
  // Upper bounds: 16 us, 32 us, ... 33.5 s; one more bucket for what is longer.
  static constexpr int kFirstPower = 4;
  static constexpr size_t kBounds = 22;

  static constexpr uint64_t bound_ns(size_t bucket) {
    return (uint64_t{1} << (static_cast<size_t>(kFirstPower) + bucket)) * 1'000;
  }

  void add(uint64_t ns) {
    // The smallest power of two that is not below the time; a part of a microsecond counts as one.
    uint64_t us = (ns + 999) / 1'000;
    int power = us <= 1 ? 0 : std::bit_width(us - 1);
    size_t bucket = static_cast<size_t>(std::max(power - kFirstPower, 0));
    ++counts_[std::min(bucket, kBounds)];
    sum_ns_ += ns;
  }
  void add(const LatencyHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_ns_ += other.sum_ns_;
  }

  // The last one (index kBounds): longer than every bound.
  uint64_t count(size_t bucket) const { return counts_[bucket]; }
  uint64_t total() const {
    uint64_t total = 0;
    for (uint64_t count : counts_) total += count;
    return total;
  }
  uint64_t sum_ns() const { return sum_ns_; }

 private:
  std::array<uint64_t, kBounds + 1> counts_{};
  uint64_t sum_ns_ = 0;
};

}  // namespace pelton
