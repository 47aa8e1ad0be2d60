#include "broker/group/classic_group.h"

#include <algorithm>
#include <utility>

#include "broker/group/subscription.h"
#include "reactor/base/check.h"

namespace pelton::broker::group {

using proto::ErrorCode;
using proto::JoinGroupResponse;
using proto::SyncGroupResponse;

std::string_view to_string(GroupState state) {
  switch (state) {
    case GroupState::kEmpty:
      return "Empty";
    case GroupState::kPreparingRebalance:
      return "PreparingRebalance";
    case GroupState::kCompletingRebalance:
      return "CompletingRebalance";
    case GroupState::kStable:
      return "Stable";
    case GroupState::kDead:
      return "Dead";
  }
  return "Unknown";
}

ClassicGroup::ClassicGroup(SessionOwner& sessions, MemoryGauge& memory, std::string id,
                           GroupState state, int64_t now_ms)
    : sessions_(sessions),
      memory_(memory),
      id_(std::move(id)),
      state_(state),
      state_timestamp_(now_ms),
      charge_(memory) {
  constexpr size_t kTimers = 2 * sizeof(Timer) + 64;  // what its owner keeps beside it
  charge_.set(sizeof(ClassicGroup) + kTimers + kNodeBytes + 2 * id_.size());
}

bool ClassicGroup::can_rebalance() const {
  return is(GroupState::kStable) || is(GroupState::kCompletingRebalance) || is(GroupState::kEmpty);
}

void ClassicGroup::transition_to(GroupState next, int64_t now_ms) {
  switch (next) {
    case GroupState::kEmpty:
      CHECK(is(GroupState::kPreparingRebalance));
      break;
    case GroupState::kPreparingRebalance:
      CHECK(can_rebalance());
      break;
    case GroupState::kCompletingRebalance:
      CHECK(is(GroupState::kPreparingRebalance));
      break;
    case GroupState::kStable:
      CHECK(is(GroupState::kCompletingRebalance));
      break;
    case GroupState::kDead:
      break;
  }
  previous_state_ = state_;
  state_ = next;
  state_timestamp_ = now_ms;
}

ClassicMember* ClassicGroup::member(std::string_view id) const {
  auto found = members_.find(id);
  return found == members_.end() ? nullptr : found->second.get();
}

ClassicMember* ClassicGroup::static_member(std::string_view instance_id) const {
  auto found = static_members_.find(instance_id);
  return found == static_members_.end() ? nullptr : member(found->second);
}

size_t ClassicGroup::supporters(std::string_view protocol) const {
  auto found = supporters_.find(protocol);
  return found == supporters_.end() ? 0 : found->second;
}

void ClassicGroup::count_protocols(const ClassicMember& member, int by) {
  for (const MemberProtocol& protocol : member.protocols) {
    size_t& count = supporters_[protocol.name];
    count += static_cast<size_t>(by);
    if (count == 0) supporters_.erase(protocol.name);
  }
}

ClassicMember& ClassicGroup::add(std::unique_ptr<ClassicMember> added, JoinWaiter* waiter) {
  ClassicMember& member = *added;
  if (members_.empty()) protocol_type_ = member.protocol_type;
  if (member.instance_id) static_members_.insert_or_assign(*member.instance_id, member.id());
  if (!leader_) leader_ = member.id();
  auto pending = pending_.find(member.id());
  if (pending != pending_.end()) pending_.erase(pending);
  bool is_new = members_.emplace(member.id(), std::move(added)).second;
  CHECK(is_new, "member ids are unique");
  count_protocols(member, 1);
  member.count_memory();
  set_join_waiter(member, waiter);
  return member;
}

void ClassicGroup::remove(std::string_view id) {
  // `id` may be a view of what goes.
  const std::string removed(id);
  auto found = members_.find(removed);
  if (found != members_.end()) {
    ClassicMember& member = *found->second;
    answer_gone(member);
    count_protocols(member, -1);
    if (member.instance_id) static_members_.erase(*member.instance_id);
    members_.erase(found);
  }
  if (is_leader(removed)) {
    leader_.reset();
    if (!members_.empty()) leader_ = members_.begin()->first;
  }
  pending_.erase(removed);
  pending_sync_.erase(removed);
}

// A client that is still there joins again.
void ClassicGroup::answer_gone(ClassicMember& member) {
  JoinGroupResponse join;
  join.error_code = proto::wire(ErrorCode::kUnknownMemberId);
  join.protocol_name = std::nullopt;
  answer_join(member, join);
  SyncGroupResponse sync;
  sync.error_code = proto::wire(ErrorCode::kUnknownMemberId);
  answer_sync(member, sync);
}

ClassicMember& ClassicGroup::replace_static(ClassicMember& old, std::string new_id) {
  CHECK(old.is_static());
  const std::string old_id = old.id();
  JoinGroupResponse fenced_join;
  fenced_join.member_id = old_id;
  fenced_join.error_code = proto::wire(ErrorCode::kFencedInstanceId);
  fenced_join.protocol_name = std::nullopt;
  answer_join(old, fenced_join);
  SyncGroupResponse fenced_sync;
  fenced_sync.error_code = proto::wire(ErrorCode::kFencedInstanceId);
  answer_sync(old, fenced_sync);

  auto added = std::make_unique<ClassicMember>(sessions_, memory_, id_, new_id);
  added->instance_id = old.instance_id;
  added->client_id = old.client_id;
  added->client_host = old.client_host;
  added->rebalance_timeout_ms = old.rebalance_timeout_ms;
  added->session_timeout_ms = old.session_timeout_ms;
  added->protocol_type = old.protocol_type;
  added->protocols = old.protocols;
  added->assignment = old.assignment;
  added->count_memory();
  static_members_[*old.instance_id] = new_id;
  members_.erase(old_id);
  ClassicMember& member = *added;
  members_.emplace(std::move(new_id), std::move(added));
  if (is_leader(old_id)) leader_ = member.id();
  // A sync that is still missing is now expected from the new id.
  if (pending_sync_.erase(old_id) > 0) pending_sync_.insert(member.id());
  return member;
}

void ClassicGroup::update(ClassicMember& member, JoinProtocols protocols,
                          int32_t rebalance_timeout_ms, int32_t session_timeout_ms,
                          JoinWaiter* waiter) {
  count_protocols(member, -1);
  member.set_protocols(protocols);
  count_protocols(member, 1);
  member.rebalance_timeout_ms = rebalance_timeout_ms;
  member.session_timeout_ms = session_timeout_ms;
  member.count_memory();
  set_join_waiter(member, waiter);
}

void ClassicGroup::set_join_waiter(ClassicMember& member, JoinWaiter* waiter) {
  if (member.awaiting_join()) {
    JoinGroupResponse superseded;
    superseded.member_id = member.id();
    superseded.error_code = proto::wire(ErrorCode::kRebalanceInProgress);
    superseded.protocol_name = std::nullopt;
    answer_join(member, superseded);
  }
  member.join_waiter = waiter;
  if (waiter != nullptr) ++awaiting_join_;
}

ErrorCode ClassicGroup::validate(std::string_view member_id,
                                 const std::optional<std::string_view>& instance_id) const {
  if (instance_id) {
    auto found = static_members_.find(*instance_id);
    if (found == static_members_.end()) return ErrorCode::kUnknownMemberId;
    if (found->second != member_id) return ErrorCode::kFencedInstanceId;
  }
  return members_.contains(member_id) ? ErrorCode::kNone : ErrorCode::kUnknownMemberId;
}

Session& ClassicGroup::add_pending(std::string member_id) {
  auto session = std::make_unique<Session>(sessions_, memory_, id_, member_id);
  return *pending_.emplace(std::move(member_id), std::move(session)).first->second;
}

int32_t ClassicGroup::rebalance_timeout_ms() const {
  int32_t longest = 0;
  for (const auto& [id, member] : members_)
    longest = std::max(longest, member->rebalance_timeout_ms);
  return longest;
}

bool ClassicGroup::elect_joined_leader() {
  if (!leader_) return false;
  if (ClassicMember* current = member(*leader_); current != nullptr && current->awaiting_join())
    return true;
  for (const auto& [id, member] : members_) {
    if (!member->awaiting_join()) continue;
    leader_ = id;
    return true;
  }
  return false;
}

bool ClassicGroup::supports(std::string_view type, JoinProtocols protocols) const {
  if (is(GroupState::kEmpty)) return !type.empty() && !protocols.empty();
  return protocol_type_ == type && std::ranges::any_of(protocols, [&](const auto& protocol) {
           return supporters(protocol.name) == members_.size();
         });
}

std::string ClassicGroup::select_protocol() const {
  CHECK(!members_.empty());
  std::map<std::string_view, size_t> votes;
  for (const auto& [id, member] : members_) {
    auto favourite = std::ranges::find_if(member->protocols, [&](const MemberProtocol& protocol) {
      return supporters(protocol.name) == members_.size();
    });
    CHECK(favourite != member->protocols.end(), "members of a group share a protocol");
    ++votes[favourite->name];
  }
  auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  return std::string(most->first);
}

void ClassicGroup::next_generation(int64_t now_ms) {
  ++generation_;
  if (members_.empty()) {
    protocol_name_.reset();
    compute_subscriptions();
    transition_to(GroupState::kEmpty, now_ms);
  } else {
    protocol_name_ = select_protocol();
    compute_subscriptions();
    transition_to(GroupState::kCompletingRebalance, now_ms);
  }
  pending_sync_.clear();
}

void ClassicGroup::restore(int32_t generation, std::optional<std::string> protocol_type,
                           std::optional<std::string> protocol_name,
                           std::optional<std::string> leader,
                           std::optional<int64_t> state_timestamp) {
  generation_ = generation;
  protocol_type_ = std::move(protocol_type);
  protocol_name_ = std::move(protocol_name);
  leader_ = std::move(leader);
  state_timestamp_ = state_timestamp;
}

void ClassicGroup::compute_subscriptions() {
  subscribed_topics_.reset();
  if (!uses_consumer_protocol()) return;
  std::set<std::string, std::less<>> topics;
  if (!members_.empty() && !protocol_name_) return;
  for (const auto& [id, member] : members_) {
    if (!add_subscribed_topics(member->metadata(*protocol_name_), topics)) return;
  }
  subscribed_topics_ = std::move(topics);
}

bool ClassicGroup::subscribed_to(std::string_view topic) const {
  return subscribed_topics_ ? subscribed_topics_->contains(topic) : uses_consumer_protocol();
}

void ClassicGroup::answer_join(ClassicMember& member, const JoinGroupResponse& response) {
  if (!member.awaiting_join()) return;
  JoinWaiter* waiter = std::exchange(member.join_waiter, nullptr);
  --awaiting_join_;
  waiter->answer(response);
}

bool ClassicGroup::answer_sync(ClassicMember& member, const SyncGroupResponse& response) {
  if (!member.awaiting_sync()) return false;
  std::exchange(member.sync_waiter, nullptr)->answer(response);
  return true;
}

std::vector<JoinGroupResponse::JoinGroupResponseMember> ClassicGroup::join_members() const {
  std::vector<JoinGroupResponse::JoinGroupResponseMember> all;
  all.reserve(members_.size());
  for (const auto& [id, member] : members_) {
    all.push_back({.member_id = id,
                   .group_instance_id = member->instance_id,
                   .metadata = member->metadata(protocol_name_.value_or(""))});
  }
  return all;
}

ErrorCode ClassicGroup::validate_offset_commit(std::string_view member_id,
                                               const std::optional<std::string_view>& instance_id,
                                               int32_t generation) const {
  // Generation -1: an admin client or a consumer without group membership, welcome while nobody
  // else is.
  if (generation < 0 && is(GroupState::kEmpty)) return ErrorCode::kNone;
  if (generation >= 0 || !member_id.empty() || instance_id) {
    ErrorCode error = validate(member_id, instance_id);
    if (error != ErrorCode::kNone) return error;
    if (generation != generation_) return ErrorCode::kIllegalGeneration;
  } else if (!is(GroupState::kEmpty)) {
    return ErrorCode::kUnknownMemberId;
  }
  return is(GroupState::kCompletingRebalance) ? ErrorCode::kRebalanceInProgress : ErrorCode::kNone;
}

}  // namespace pelton::broker::group
