// Samples of a latency and their percentiles. Keeps every sample: the counts are small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pelton::bench {

class Percentiles {
 public:
  void add_ns(int64_t sample) { samples_.push_back(sample); }
  // {"p50": 12.3, "p99": ..., "p99.9": ..., "max": ..., "mean": ...} in microseconds.
  std::string json_us();

 private:
  std::vector<int64_t> samples_;
};

}  // namespace pelton::bench
