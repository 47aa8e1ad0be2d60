#include "broker/group/group_coordinator.h"

namespace pelton::broker::group {

GroupCoordinator::GroupCoordinator(const GroupConfig& config, coordinator::Environment& environment,
                                   coordinator::RecordWriter& writer)
    : config_(config),
      environment_(environment),
      writer_(writer),
      groups_(config, environment, writer) {}

void GroupCoordinator::loaded() {
  groups_.loaded();
  start_expiry_timer();
}

void GroupCoordinator::unloaded(proto::ErrorCode error) {
  environment_.timers().cancel(expiry_timer_);
  groups_.unloaded(error);
}

void GroupCoordinator::start_expiry_timer() {
  uint64_t interval = static_cast<uint64_t>(config_.offsets_retention_check_interval_ms);
  environment_.timers().start(expiry_timer_, environment_.now_ns() + interval * 1'000'000);
}

void GroupCoordinator::expiry_due() {
  expire_offsets();
  start_expiry_timer();
}

}  // namespace pelton::broker::group
