#include "broker/descriptors.h"

#include <algorithm>

#include <sys/resource.h>

namespace pelton::broker {
namespace {

constexpr size_t kMost = 2'000'000;

// A sixteenth of what there is.
size_t share() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1'024;
  return std::max<size_t>(std::min<size_t>(limit.rlim_cur, kMost) / 16, 1);
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // when it fails what there is has to do
}

size_t segment_descriptors(size_t shards) { return std::max<size_t>(4 * share() / shards, 16); }

size_t connection_descriptors() { return 10 * share(); }

size_t waiting_descriptors(size_t backlog) { return std::min(share(), backlog); }

}  // namespace pelton::broker
