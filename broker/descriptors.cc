#include "broker/descriptors.h"

#include <algorithm>

#include <sys/resource.h>

namespace pelton::broker {
namespace {

constexpr size_t kMost = 2'000'000;
// Listeners, rings, the metrics' clients, logs and their directories.
constexpr size_t kOthers = 64;

size_t half() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1'024;
  return std::min<size_t>(limit.rlim_cur, kMost) / 2;
}

size_t waiting_share() { return std::max<size_t>(half() / 8, 1); }

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // when it fails what there is has to do
}

size_t segment_descriptors(size_t shards) { return std::max<size_t>(half() / shards, 16); }

size_t connection_descriptors() {
  size_t others = std::min(kOthers, half() / 4);
  return std::max<size_t>(half() - waiting_share() - others, 1);
}

size_t waiting_descriptors(size_t backlog) { return std::min(waiting_share(), backlog); }

}  // namespace pelton::broker
