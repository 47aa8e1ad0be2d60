// Rebalancing: waiting for the members to join, the next generation, and the timeouts.
#include <algorithm>
#include <vector>

#include "broker/group/classic_groups.h"
#include "reactor/base/check.h"

namespace pelton::broker::group {

using proto::ErrorCode;
using proto::JoinGroupResponse;

void ClassicGroups::prepare_or_complete(Entry& entry) {
  if (entry.group.can_rebalance()) {
    prepare_rebalance(entry);
  } else {
    maybe_complete_join(entry);
  }
}

void ClassicGroups::prepare_rebalance(Entry& entry) {
  ClassicGroup& group = entry.group;
  if (group.is(GroupState::kCompletingRebalance)) {
    for (const auto& [id, member] : group.members()) member->set_assignment({});
    propagate_assignment(group, ErrorCode::kRebalanceInProgress);
  }
  group.pending_sync().clear();
  environment_.timers().cancel(entry.sync_timer);

  entry.initial = group.is(GroupState::kEmpty);
  group.transition_to(GroupState::kPreparingRebalance, now_ms());
  if (entry.initial) {
    entry.delay_ms = config_.initial_rebalance_delay_ms;
    entry.remaining_ms = std::max(group.rebalance_timeout_ms() - entry.delay_ms, 0);
    start_timer(entry.join_timer, entry.delay_ms);
  } else if (group.all_joined()) {
    complete_join(entry);
  } else {
    start_timer(entry.join_timer, group.rebalance_timeout_ms());
  }
}

void ClassicGroups::maybe_complete_join(Entry& entry) {
  const ClassicGroup& group = entry.group;
  bool waits_for_more = group.previous_state() == GroupState::kEmpty;
  if (!group.is(GroupState::kPreparingRebalance) || waits_for_more) return;
  if (group.all_joined()) {
    complete_join(entry);
  } else if (group.awaiting_join() > 0 && !entry.join_timer.active()) {
    // The first to come back after nobody did.
    start_timer(entry.join_timer, group.rebalance_timeout_ms());
  }
}

void ClassicGroups::join_due(Entry& entry) {
  ClassicGroup& group = entry.group;
  if (!entry.initial || !group.new_member_added || entry.remaining_ms == 0) {
    complete_join(entry);
    return;
  }
  group.new_member_added = false;
  int32_t delay = std::min(config_.initial_rebalance_delay_ms, entry.remaining_ms);
  entry.remaining_ms = std::max(entry.remaining_ms - entry.delay_ms, 0);
  entry.delay_ms = delay;
  start_timer(entry.join_timer, delay);
}

void ClassicGroups::complete_join(Entry& entry) {
  ClassicGroup& group = entry.group;
  CHECK(group.is(GroupState::kPreparingRebalance));
  environment_.timers().cancel(entry.join_timer);
  entry.initial = false;

  std::vector<std::string> missing;
  for (const auto& [id, member] : group.members()) {
    if (!member->awaiting_join() && !member->is_static()) missing.push_back(id);
  }
  for (const std::string& id : missing) group.remove(id);

  if (!group.elect_joined_leader() && !group.members().empty()) {
    // Only static members, none of them back: their sessions decide, or the first one that comes back.
    // (Kafka looks again after each rebalance timeout, which a client may have set to zero.)
    return;
  }
  group.next_generation(now_ms());
  if (group.is(GroupState::kEmpty)) {
    records_.clear();
    add_group_metadata(records_, group);
    writer_.write(records_, coordinator::Replay::kNo, nullptr);
    return;
  }
  answer_joins(entry);
}

void ClassicGroups::answer_joins(Entry& entry) {
  ClassicGroup& group = entry.group;
  auto members = group.join_members();
  for (const auto& [id, member] : group.members()) {
    JoinGroupResponse response;
    response.member_id = id;
    response.generation_id = group.generation();
    response.protocol_type = group.protocol_type();
    response.protocol_name = group.protocol_name();
    response.leader = group.leader().value();
    if (group.is_leader(id)) response.members = members;
    group.answer_join(*member, response);
    start_session(*member);
    member->is_new = false;
    group.pending_sync().insert(id);
  }
  entry.sync_generation = group.generation();
  start_timer(entry.sync_timer, group.rebalance_timeout_ms());
}

void ClassicGroups::sync_due(Entry& entry) {
  ClassicGroup& group = entry.group;
  if (entry.sync_generation != group.generation()) return;
  bool after_join = group.is(GroupState::kCompletingRebalance) || group.is(GroupState::kStable);
  if (!after_join || group.pending_sync().empty()) return;
  std::vector<std::string> missing(group.pending_sync().begin(), group.pending_sync().end());
  for (const std::string& id : missing) group.remove(id);
  prepare_rebalance(entry);
}

void ClassicGroups::session_expired(std::string group_id, std::string member_id) {
  Entry* found = entry(group_id);
  if (found == nullptr) return;
  ClassicGroup& group = found->group;
  if (group.is_pending(member_id)) {
    group.remove(member_id);
    if (group.is(GroupState::kPreparingRebalance) && group.all_joined()) {
      complete_join(*found);
    } else if (group.was_never_joined() && group.pending_count() == 0) {
      owner_.group_unused(group);
    }
    return;
  }
  ClassicMember* member = group.member(member_id);
  if (member == nullptr || member->heartbeat_satisfied()) return;
  group.remove(member_id);
  member_gone(*found);
}

void ClassicGroups::member_gone(Entry& entry) {
  const ClassicGroup& group = entry.group;
  if (group.is(GroupState::kStable) || group.is(GroupState::kCompletingRebalance)) {
    prepare_or_complete(entry);
  } else if (group.is(GroupState::kPreparingRebalance) && group.all_joined()) {
    complete_join(entry);
  }
}

}  // namespace pelton::broker::group
