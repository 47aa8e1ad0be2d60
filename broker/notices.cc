#include "broker/notices.h"

namespace pelton::broker {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

}  // namespace

bool RepeatedNotice::may_tell() {
  if (quiet_) {
    ++passed_over_;
    return false;
  }
  quiet_ = true;
  loop_.timers().start(timer_, loop_.now_ns() + kSecond);
  return true;
}

void RepeatedNotice::second_over() {
  quiet_ = false;
  if (passed_over_ == 0) return;
  log_line(level_, fmt::format("{} more {}", std::exchange(passed_over_, 0), more_));
  // A line a second, whatever comes.
  quiet_ = true;
  loop_.timers().start(timer_, loop_.now_ns() + kSecond);
}

Notices::Notices(Loop& loop)
    : suspended(loop, LogLevel::kWarn, "partitions of this shard cannot take records now"),
      resumed(loop, LogLevel::kInfo, "partitions of this shard take records again"),
      failed(loop, LogLevel::kError, "partitions of this shard failed"),
      cannot_open(loop, LogLevel::kError, "times new partitions could not be made on this shard"),
      internal_topic(loop, LogLevel::kError, "times an internal topic could not be created"),
      idle_keys(loop, LogLevel::kInfo, "changes of keys that are kept and do nothing here") {}

}  // namespace pelton::broker
