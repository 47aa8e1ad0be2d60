#include "bench/load/percentiles.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/load/sockets.h"

namespace pelton::bench {

std::string Percentiles::json_us() {
  if (samples_.empty()) fail("no samples");
  std::ranges::sort(samples_);
  // The smallest sample that at least the fraction p of all samples does not exceed.
  auto at = [&](double p) {
    double rank = std::ceil(p * static_cast<double>(samples_.size()));
    return static_cast<double>(samples_[static_cast<size_t>(std::max(rank, 1.0)) - 1]) / 1e3;
  };
  double sum = std::accumulate(samples_.begin(), samples_.end(), 0.0);
  return fmt::format(
      R"({{"p50": {:.1f}, "p99": {:.1f}, "p99.9": {:.1f}, "max": {:.1f}, "mean": {:.1f}}})",
      at(0.5), at(0.99), at(0.999), at(1.0), sum / static_cast<double>(samples_.size()) / 1e3);
}

}  // namespace pelton::bench
