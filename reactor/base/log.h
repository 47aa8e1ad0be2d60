// Log lines: asynchronous and bounded, so that a shard never waits for a terminal or a disk. Lines that find the
// queue full replace the oldest ones, and are counted; control bytes are escaped. Before log_start (and in
// tests) lines go straight to stderr. Callable from any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pelton {

enum class LogLevel : uint8_t { kTrace, kDebug, kInfo, kWarn, kError };

void log_start(LogLevel level);
// Writes out what is queued; the last call of a process.
void log_stop();
bool log_enabled(LogLevel level);
// The least level of what is logged; may change at any time, from any thread.
LogLevel log_level();
void log_set_level(LogLevel level);
void log_line(LogLevel level, std::string_view line);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarn))
    log_line(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

// At most one line a second for one kind of event; tells how many were passed over.
// Owner shard: one.
class LogLimiter {
 public:
  // Whether to log now. `passed_over` = events since the last line.
  bool allow(uint64_t now_ns, uint64_t& passed_over) {
    if (now_ns < next_ns_) {
      ++passed_over_;
      return false;
    }
    next_ns_ = now_ns + 1'000'000'000;
    passed_over = std::exchange(passed_over_, 0);
    return true;
  }

 private:
  uint64_t next_ns_ = 0;
  uint64_t passed_over_ = 0;
};

}  // namespace pelton
