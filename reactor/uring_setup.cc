#include "reactor/uring_setup.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace pelton {
namespace {

constexpr int kFloorMajor = 6;
constexpr int kFloorMinor = 1;

constexpr unsigned kSetupFlags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
                                 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |
                                 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE |
                                 IORING_SETUP_SUBMIT_ALL;
constexpr unsigned kNeededFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL;

struct NeededOperation {
  int code;
  const char* name;
};
constexpr NeededOperation kNeededOperations[] = {
    {IORING_OP_ACCEPT, "accept"},     {IORING_OP_RECV, "recv"},
    {IORING_OP_SEND, "send"},         {IORING_OP_SENDMSG, "sendmsg"},
    {IORING_OP_POLL_ADD, "poll"},     {IORING_OP_ASYNC_CANCEL, "cancel"},
    {IORING_OP_READ, "read"},         {IORING_OP_FSYNC, "fsync"},
    {IORING_OP_UNLINKAT, "unlinkat"},
};

std::optional<int> read_number(const char* path) {
  std::ifstream file(path);
  int value;
  if (file >> value) return value;
  return std::nullopt;
}

std::string explain_forbidden(const HostFacts& facts) {
  if (facts.io_uring_disabled == 2)
    return "io_uring is forbidden: kernel.io_uring_disabled is 2 (off for every process); "
           "allow it with: sysctl -w kernel.io_uring_disabled=0";
  if (facts.io_uring_disabled == 1)
    return "io_uring is forbidden: kernel.io_uring_disabled is 1 (only for members of "
           "kernel.io_uring_group); add this user to that group or allow it for everybody with: "
           "sysctl -w kernel.io_uring_disabled=0";
  return fmt::format(
      "io_uring is forbidden (EPERM) although kernel.io_uring_disabled is {}: a seccomp filter, most "
      "likely the container runtime's, denies it; allow the system calls io_uring_setup, "
      "io_uring_enter and io_uring_register in its profile",
      facts.io_uring_disabled ? std::to_string(*facts.io_uring_disabled) : "not there");
}

Result<void, std::string> check_operations(io_uring& ring, const HostFacts& facts) {
  std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(io_uring_get_probe_ring(&ring),
                                                                   io_uring_free_probe);
  if (!probe) return std::unexpected("io_uring does not tell which operations it has");
  for (const NeededOperation& needed : kNeededOperations)
    if (!io_uring_opcode_supported(probe.get(), needed.code))
      return std::unexpected(fmt::format("io_uring of Linux {} lacks the operation {}",
                                         facts.kernel_release, needed.name));
  return {};
}

}  // namespace

HostFacts read_host_facts() {
  HostFacts facts;
  utsname names;
  if (::uname(&names) == 0) facts.kernel_release = names.release;
  facts.io_uring_disabled = read_number("/proc/sys/kernel/io_uring_disabled");
  rlimit limit;
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
    facts.memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
  return facts;
}

std::optional<std::string> explain_old_kernel(const HostFacts& facts) {
  int major = 0, minor = 0;
  if (std::sscanf(facts.kernel_release.c_str(), "%d.%d", &major, &minor) != 2) return std::nullopt;
  if (major > kFloorMajor || (major == kFloorMajor && minor >= kFloorMinor)) return std::nullopt;
  return fmt::format("Linux {} is too old: {}.{} or newer is needed", facts.kernel_release,
                     kFloorMajor, kFloorMinor);
}

std::string explain_ring_error(int error, const HostFacts& facts) {
  switch (error) {
    case EPERM:
    case EACCES:
      return explain_forbidden(facts);
    case ENOSYS:
      return fmt::format(
          "io_uring is not there: Linux {} was built without it, or a seccomp filter answers "
          "ENOSYS; use a kernel with CONFIG_IO_URING, or allow io_uring_setup, io_uring_enter and "
          "io_uring_register in the filter",
          facts.kernel_release);
    case ENOMEM:
      return fmt::format(
          "no memory for io_uring: the limit of locked memory is {}; raise it (ulimit -l, systemd "
          "LimitMEMLOCK=, docker --ulimit memlock=), or free memory",
          facts.memlock_bytes == UINT64_MAX ? "not set"
                                            : fmt::format("{} KiB", facts.memlock_bytes / 1024));
    default:
      return fmt::format("io_uring cannot be set up on Linux {}: {}", facts.kernel_release,
                         to_string(SysError{error}));
  }
}

Result<void, std::string> set_up_ring(io_uring& ring, unsigned sq_entries, unsigned cq_entries,
                                      const HostFacts& facts) {
  if (auto old = explain_old_kernel(facts)) return std::unexpected(*old);
  io_uring_params params{};
  params.flags = kSetupFlags;
  params.cq_entries = cq_entries;
  if (int result = io_uring_queue_init_params(sq_entries, &ring, &params); result < 0)
    return std::unexpected(explain_ring_error(-result, facts));
  Result<void, std::string> usable = check_operations(ring, facts);
  if (usable && (params.features & kNeededFeatures) != kNeededFeatures)
    usable = std::unexpected(fmt::format("io_uring of Linux {} lacks a needed feature (has {:#x})",
                                         facts.kernel_release, params.features));
  if (!usable) io_uring_queue_exit(&ring);
  return usable;
}

}  // namespace pelton
