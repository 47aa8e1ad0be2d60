// Making a ring: kernel floor, set-up flags, needed operations, and the sentence that tells an operator
// what forbids io_uring on this host and how to allow it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <liburing.h>

#include "reactor/base/result.h"

namespace pelton {

struct HostFacts {
  std::string kernel_release;            // "6.1.0-57-cloud-amd64"
  std::optional<int> io_uring_disabled;  // kernel.io_uring_disabled, where there is such a key
  uint64_t memlock_bytes = 0;            // RLIMIT_MEMLOCK; UINT64_MAX = no limit
};

HostFacts read_host_facts();

// nullopt when the release is at least 6.1 or cannot be parsed (then the ring itself tells).
std::optional<std::string> explain_old_kernel(const HostFacts& facts);
// One line for a failed io_uring_setup or io_uring_register; `error` is a positive errno.
std::string explain_ring_error(int error, const HostFacts& facts);

// Makes a disabled ring: the thread that will use it enables it (io_uring_enable_rings).
Result<void, std::string> set_up_ring(io_uring& ring, unsigned sq_entries, unsigned cq_entries,
                                      const HostFacts& facts);

}  // namespace pelton
