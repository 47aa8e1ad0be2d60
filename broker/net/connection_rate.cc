#include "broker/net/connection_rate.h"

#include <algorithm>

namespace pelton::broker {
namespace {

// Beyond these nobody could tell a difference.
constexpr int32_t kMostWindows = 10'000;
constexpr int32_t kLongestWindow = 86'400;

}  // namespace

ConnectionRate::ConnectionRate(int32_t windows, int32_t window_seconds)
    : windows_(static_cast<size_t>(std::clamp(windows, 1, kMostWindows))),
      window_ns_(static_cast<uint64_t>(std::clamp(window_seconds, 1, kLongestWindow)) * 1'000'000'000) {}

uint64_t ConnectionRate::record(uint64_t now_ns, int32_t limit_a_second) {
  while (!counted_.empty() && now_ns - counted_.front().begun_ns >= windows_ * window_ns_) counted_.pop_front();
  if (counted_.empty() || now_ns - counted_.back().begun_ns >= window_ns_) {
    counted_.push_back({now_ns, 0});
    if (counted_.size() > windows_) counted_.pop_front();
  }
  ++counted_.back().count;
  double sum = 0;
  for (const Window& window : counted_) sum += window.count;
  double elapsed_s = static_cast<double>(elapsed_ns(now_ns)) / 1e9;
  double limit = limit_a_second;
  double too_much = sum / elapsed_s - limit;
  if (too_much <= 0) return 0;
  double most_s = static_cast<double>(window_ns_) / 1e9;
  double wait_s = limit > 0 ? std::min(too_much / limit * elapsed_s, most_s) : most_s;
  return static_cast<uint64_t>(wait_s * 1e9);
}

uint64_t ConnectionRate::elapsed_ns(uint64_t now_ns) const {
  uint64_t elapsed = now_ns - counted_.front().begun_ns;
  uint64_t full = elapsed / window_ns_;
  uint64_t least = windows_ - 1;
  if (full < least) elapsed += (least - full) * window_ns_;
  return std::max<uint64_t>(elapsed, 1'000'000);
}

}  // namespace pelton::broker
