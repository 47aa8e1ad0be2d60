#include "broker/group/classic_groups.h"

#include <utility>

namespace pelton::broker::group {

using proto::ErrorCode;

ClassicGroups::ClassicGroups(const GroupConfig& config, coordinator::Environment& environment,
                             coordinator::RecordWriter& writer, MemoryGauge& memory,
                             GroupOwner& owner)
    : config_(config),
      environment_(environment),
      writer_(writer),
      memory_(memory),
      owner_(owner) {}

ClassicGroups::~ClassicGroups() = default;

ClassicGroups::Entry* ClassicGroups::entry(std::string_view group_id) const {
  auto found = entries_.find(group_id);
  return found == entries_.end() ? nullptr : found->second.get();
}

ClassicGroups::Entry* ClassicGroups::entry(std::string_view group_id, uint64_t incarnation) const {
  Entry* found = entry(group_id);
  return found != nullptr && found->incarnation == incarnation ? found : nullptr;
}

ClassicGroup* ClassicGroups::find(std::string_view group_id) const {
  Entry* found = entry(group_id);
  return found == nullptr ? nullptr : &found->group;
}

ClassicGroups::Entry& ClassicGroups::create(std::string_view group_id, GroupState state) {
  auto created = std::make_unique<Entry>(*this, std::string(group_id), state, now_ms());
  Entry& entry = *created;
  entries_.insert_or_assign(std::string(group_id), std::move(created));
  return entry;
}

ClassicGroup& ClassicGroups::put(std::string_view group_id, GroupState state) {
  return create(group_id, state).group;
}

void ClassicGroups::erase(std::string_view group_id) {
  auto found = entries_.find(group_id);
  if (found != entries_.end()) entries_.erase(found);
}

void ClassicGroups::start_timer(Timer& timer, int64_t delay_ms) {
  // A client may ask for a negative timeout: due at once.
  uint64_t delay = delay_ms > 0 ? static_cast<uint64_t>(delay_ms) : 0;
  environment_.timers().start(timer, environment_.now_ns() + delay * 1'000'000);
}

void ClassicGroups::start_session(ClassicMember& member, int32_t timeout_ms) {
  uint64_t timeout = timeout_ms > 0 ? static_cast<uint64_t>(timeout_ms) : 0;
  member.session.start(environment_.timers(), environment_.now_ns() + timeout * 1'000'000);
}

void ClassicGroups::keep_alive(ClassicGroup& group, std::string_view member_id) {
  if (!group.is(GroupState::kStable) && !group.is(GroupState::kPreparingRebalance)) return;
  if (ClassicMember* member = group.member(member_id)) start_session(*member);
}

void ClassicGroups::loaded() {
  for (auto& [id, entry] : entries_) {
    ClassicGroup& group = entry->group;
    for (const auto& [member_id, member] : group.members()) start_session(*member);
    // The limit was lowered: a rebalance leaves the surplus out.
    if (group.members().size() > static_cast<size_t>(config_.max_size)) prepare_rebalance(*entry);
  }
}

void ClassicGroups::unloaded(ErrorCode error) {
  for (auto& [id, entry] : entries_) {
    ClassicGroup& group = entry->group;
    for (const auto& [member_id, member] : group.members()) {
      proto::JoinGroupResponse join;
      join.member_id = member_id;
      join.error_code = proto::wire(error);
      join.protocol_name = std::nullopt;
      group.answer_join(*member, join);
      proto::SyncGroupResponse sync;
      sync.error_code = proto::wire(error);
      group.answer_sync(*member, sync);
    }
  }
  entries_.clear();
}

}  // namespace pelton::broker::group
