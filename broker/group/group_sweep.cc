// Looking at all groups: offsets that expire, offsets of topics that are gone, groups that nobody uses. A
// coordinator may have a million groups, so that a sweep takes some of them each millisecond.
#include <utility>

#include "broker/group/group_coordinator.h"

namespace pelton::broker::group {

void GroupCoordinator::start_expiry_timer() {
  uint64_t interval = static_cast<uint64_t>(config_.offsets_retention_check_interval_ms);
  environment_.timers().start(expiry_timer_, environment_.now_ns() + interval * 1'000'000);
}

void GroupCoordinator::expiry_due() {
  expire_offsets();
  start_expiry_timer();
}

void GroupCoordinator::start_sweep(Sweep what) {
  wanted_ |= what;
  if (sweep_timer_.active()) return;
  environment_.timers().start(sweep_timer_, environment_.now_ns());
}

void GroupCoordinator::sweep_slice() {
  if (sweeping_ == 0) {
    sweeping_ = std::exchange(wanted_, 0);
    swept_to_.reset();
  }
  int64_t now = environment_.wall_ms();
  records_.clear();
  auto last = groups_.visit_after(swept_to_, kGroupsPerSlice,
                                  [&](const ClassicGroup& group) { sweep_group(group, now); });
  writer_.write_each(records_);
  if (!last) {
    sweeping_ = 0;
    if (wanted_ == 0) return;
  }
  swept_to_ = std::move(last);
  environment_.timers().start(sweep_timer_, environment_.now_ns());
}

void GroupCoordinator::sweep_group(const ClassicGroup& group, int64_t now_ms) {
  if ((sweeping_ & Sweep::kTopics) != 0) forget_lost_topics(group);
  if ((sweeping_ & (Sweep::kExpiry | Sweep::kUnused)) == 0) return;
  // An id that was given out and not used yet keeps its group, but when memory is short.
  bool waits = group.pending_count() > 0 && (sweeping_ & Sweep::kUnused) == 0;
  bool nothing_left = expire_group_offsets(group, now_ms);
  if (nothing_left && group.is(GroupState::kEmpty) && !waits) add_group_tombstone(records_, group.id());
}

bool GroupCoordinator::expire_group_offsets(const ClassicGroup& group, int64_t now_ms) {
  const TopicOffsets* topics = offsets_.find(group.id());
  if (topics == nullptr) return !offsets_.has_pending(group.id());

  // From when the retention counts. A simple group: the commit. A group without members: since it
  // is empty. A consumer group with members: the commit, for topics it no longer subscribes to. Any
  // other group keeps its offsets.
  bool counts_from_state = group.protocol_type() && group.is(GroupState::kEmpty);
  bool counts_from_commit =
      !group.protocol_type() || (group.uses_consumer_protocol() && group.subscribed_topics() &&
                                 group.is(GroupState::kStable));
  if (!counts_from_state && !counts_from_commit) return false;

  bool nothing_left = true;
  for (const auto& [topic, partitions] : *topics) {
    if (group.subscribed_to(topic)) {
      nothing_left = false;
      continue;
    }
    for (const auto& [partition, offset] : partitions) {
      int64_t since = counts_from_state ? group.state_timestamp().value_or(offset.commit_timestamp)
                                        : offset.commit_timestamp;
      bool expired = offset.expire_timestamp ? now_ms >= *offset.expire_timestamp
                                             : now_ms - since >= config_.offsets_retention_ms;
      if (expired && !offsets_.has_pending(group.id(), topic, partition)) {
        add_offset_tombstone(records_, group.id(), topic, partition);
      } else {
        nothing_left = false;
      }
    }
  }
  return nothing_left && !offsets_.has_pending(group.id());
}

void GroupCoordinator::forget_lost_topics(const ClassicGroup& group) {
  if (const TopicOffsets* topics = offsets_.find(group.id())) forget_lost_topics(group, *topics);
  offsets_.for_each_pending(group.id(), [&](const TopicOffsets& topics) {
    forget_lost_topics(group, topics);
  });
}

void GroupCoordinator::forget_lost_topics(const ClassicGroup& group, const TopicOffsets& topics) {
  for (const auto& [topic, partitions] : topics) {
    for (const auto& [partition, offset] : partitions) {
      if (!directory_.exists(topic, offset.topic_id))
        add_offset_tombstone(records_, group.id(), topic, partition);
    }
  }
}

void GroupCoordinator::group_unused(const ClassicGroup& group) {
  if (offsets_.find(group.id()) != nullptr || offsets_.has_pending(group.id())) return;
  records_.clear();
  add_group_tombstone(records_, group.id());
  writer_.write_each(records_);
}

}  // namespace pelton::broker::group
