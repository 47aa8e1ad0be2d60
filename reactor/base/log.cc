#include "reactor/base/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "reactor/base/printable.h"

namespace pelton {
namespace {

constexpr size_t kQueuedLines = 512;

// Writes lines to stderr on the pool's thread, and in between how many the queue has lost.
class StderrSink final : public spdlog::sinks::stderr_sink_mt {
  using Sink = spdlog::sinks::stderr_sink_mt;

 public:
  explicit StderrSink(spdlog::details::thread_pool& pool) : pool_(pool) {}

  void log(const spdlog::details::log_msg& line) override {
    tell_at_times();
    Sink::log(line);
  }
  // `lost`: since the start. On the pool's thread, or after its end.
  void tell(size_t lost) {
    if (lost == told_) return;
    std::string text = fmt::format("{} lines of the log were lost: too many at a time", lost - told_);
    Sink::log(spdlog::details::log_msg("pelton", spdlog::level::warn, text));
    told_ = lost;
  }

 private:
  // Once a second while the queue stays full, and when it is empty again.
  void tell_at_times() {
    size_t lost = pool_.overrun_counter();
    if (lost == told_) return;
    auto now = std::chrono::steady_clock::now();
    if (pool_.queue_size() > 0 && now < next_) return;
    next_ = now + std::chrono::seconds(1);
    tell(lost);
  }

  spdlog::details::thread_pool& pool_;  // runs it, and outlives it
  size_t told_ = 0;
  std::chrono::steady_clock::time_point next_;
};

// The process's one logger: lines come from every thread, and a process has one stderr.
struct Logger {
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<StderrSink> sink;
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
  logger->sink = std::make_shared<StderrSink>(*logger->pool);
  logger->lines = std::make_shared<spdlog::async_logger>(
      "pelton", logger->sink, logger->pool,
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
  size_t lost = logger->pool->overrun_counter();
  logger->pool.reset();  // writes the queue out and joins
  logger->sink->tell(lost);
}

bool log_enabled(LogLevel level) { return level >= least.load(std::memory_order_relaxed); }

LogLevel log_level() { return least.load(std::memory_order_relaxed); }

void log_set_level(LogLevel level) { least.store(level, std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view text) {
  std::string line = printable(text);
  if (Logger* logger = current.load(std::memory_order_acquire)) {
    logger->lines->log(level_of(level), line);
  } else {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }
}

}  // namespace pelton
