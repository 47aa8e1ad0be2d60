#include "broker/group/group_coordinator.h"

namespace pelton::broker::group {

GroupCoordinator::GroupCoordinator(const GroupConfig& config, coordinator::Environment& environment,
                                   coordinator::RecordWriter& writer, MemoryGauge& memory,
                                   const TopicDirectory& directory)
    : config_(config),
      environment_(environment),
      writer_(writer),
      memory_(memory),
      directory_(directory),
      groups_(config, environment, writer, memory, *this),
      offsets_(memory) {}

void GroupCoordinator::loaded() {
  groups_.loaded();
  start_expiry_timer();
  // Topics may have been deleted before their groups' offsets were.
  topics_deleted();
}

void GroupCoordinator::unloaded(proto::ErrorCode error) {
  environment_.timers().cancel(expiry_timer_);
  environment_.timers().cancel(sweep_timer_);
  groups_.unloaded(error);
}

}  // namespace pelton::broker::group
