// ConnectionRate: how many connections came in the last windows, and how long the next one has to wait so that
// their average stays below a rate. The rule is that of Apache Kafka's quotas: as long as fewer windows than
// their number have passed they count as passed, so that a broker that was quiet takes a burst.
//
// Owner: ConnectionLimits. Times are those of the loop's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace pelton::broker {

class ConnectionRate {
 public:
  ConnectionRate(int32_t windows, int32_t window_seconds);

  // Counts a connection; how long it has to wait, never longer than a window.
  uint64_t record(uint64_t now_ns, int32_t limit_a_second);

 private:
  struct Window {
    uint64_t begun_ns;
    double count;
  };
  uint64_t elapsed_ns(uint64_t now_ns) const;

  size_t windows_;
  uint64_t window_ns_;
  std::deque<Window> counted_;  // the newest last; at most windows_
};

}  // namespace pelton::broker
