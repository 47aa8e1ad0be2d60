#include "reactor/base/log.h"

#include <atomic>
#include <cstdio>
#include <memory>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace pelton {
namespace {

constexpr size_t kQueuedLines = 512;

// The process's one logger: lines come from every thread, and a process has one stderr.
struct Logger {
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> lines;
};
std::atomic<Logger*> current{nullptr};
std::atomic<LogLevel> least{LogLevel::kInfo};

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return spdlog::level::trace;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void log_start(LogLevel level) {
  auto logger = std::make_unique<Logger>();
  logger->pool = std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1);
  logger->lines = std::make_shared<spdlog::async_logger>(
      "pelton", std::make_shared<spdlog::sinks::stderr_sink_mt>(), logger->pool,
      spdlog::async_overflow_policy::overrun_oldest);
  logger->lines->set_level(spdlog::level::trace);  // log_enabled() decides
  logger->lines->set_pattern("[%Y-%m-%d %H:%M:%S,%e] %L %v");
  logger->lines->flush_on(spdlog::level::info);
  least = level;
  current = logger.release();
}

void log_stop() {
  std::unique_ptr<Logger> logger(current.exchange(nullptr));
  if (logger == nullptr) return;
  logger->lines->flush();
  logger->lines.reset();
  logger->pool.reset();  // writes the queue out and joins
}

bool log_enabled(LogLevel level) { return level >= least.load(std::memory_order_relaxed); }

LogLevel log_level() { return least.load(std::memory_order_relaxed); }

void log_set_level(LogLevel level) { least.store(level, std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view line) {
  if (Logger* logger = current.load(std::memory_order_acquire)) {
    logger->lines->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
  } else {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }
}

}  // namespace pelton
