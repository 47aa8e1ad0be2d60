#include "broker/service/supervision.h"

#include <cerrno>
#include <chrono>
#include <ctime>

#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

timespec of(std::chrono::microseconds interval) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
  return {seconds.count(), std::chrono::nanoseconds(interval - seconds).count()};
}

}  // namespace

void supervise(const sigset_t& signals, const SystemdNotify& manager, Liveness& liveness) {
  int signal = 0;
  if (!manager.watchdog()) {
    sigwait(&signals, &signal);
    return;
  }
  // Several signs fit into one watchdog interval, so a late one alone kills nobody.
  timespec pause = of(*manager.watchdog() / 4);
  while (true) {
    liveness.begin_round();
    if (sigtimedwait(&signals, nullptr, &pause) >= 0) return;
    if (errno != EAGAIN) continue;
    if (auto shard = liveness.silent()) {
      log_error("Shard {} has not turned for {} ms", *shard,
                std::chrono::duration_cast<std::chrono::milliseconds>(*manager.watchdog() / 4).count());
    } else {
      manager.alive();
    }
  }
}

}  // namespace pelton::broker
