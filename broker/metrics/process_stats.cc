#include "broker/metrics/process_stats.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace pelton::broker {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// visit(path) for each entry of a folder that may lose entries meanwhile.
template <class Visit>
void for_each_entry(const char* folder, Visit&& visit) {
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) visit(at->path());
}

}  // namespace

ProcessStats read_process_stats() {
  ProcessStats stats;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    stats.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::ifstream memory("/proc/self/statm");
  uint64_t total_pages = 0, resident_pages = 0;
  if (memory >> total_pages >> resident_pages)
    stats.resident_bytes = resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_descriptors = limit.rlim_cur;
  for_each_entry("/proc/self/fd", [&](const auto&) { ++stats.open_descriptors; });
  for_each_entry("/proc/self/task", [&](const std::filesystem::path& thread) {
    ++stats.threads;
    std::ifstream file(thread / "comm");
    std::string comm;
    if (std::getline(file, comm) && comm.starts_with("iou-wrk")) ++stats.io_workers;
  });
  return stats;
}

}  // namespace pelton::broker
