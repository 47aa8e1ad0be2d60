// Joining: who may join, under which id, and what a JoinGroup means in each state of its group.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/group/classic_groups.h"
#include "broker/group/static_replacement.h"

namespace pelton::broker::group {

using proto::ErrorCode;
using proto::JoinGroupRequest;
using proto::JoinGroupResponse;

namespace {

constexpr int16_t kMemberIdRequiredFrom = 4;
// More than any client has; votes and answers walk over all of a member's protocols.
constexpr size_t kMostProtocols = 10'000;

void answer_error(JoinWaiter& waiter, std::string_view member_id, ErrorCode error) {
  JoinGroupResponse response;
  response.member_id = member_id;
  response.error_code = proto::wire(error);
  response.protocol_name = std::nullopt;
  waiter.answer(response);
}

// As much of the text as fits, without a part of a character.
std::string_view utf8_prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

ErrorCode ClassicGroups::check_join(const GroupConfig& config, const JoinGroupRequest& request) {
  if (request.group_id.empty()) return ErrorCode::kInvalidGroupId;
  if (request.protocols.size() > kMostProtocols) return ErrorCode::kInconsistentGroupProtocol;
  bool in_range = request.session_timeout_ms >= config.min_session_timeout_ms &&
                  request.session_timeout_ms <= config.max_session_timeout_ms;
  return in_range ? ErrorCode::kNone : ErrorCode::kInvalidSessionTimeout;
}

void ClassicGroups::join(const JoinContext& context, const JoinGroupRequest& request,
                         JoinWaiter& waiter) {
  Entry* found = entry(request.group_id);
  bool is_new_group = found == nullptr;
  if (is_new_group && !request.member_id.empty()) {
    answer_error(waiter, request.member_id, ErrorCode::kUnknownMemberId);
    return;
  }
  if (!memory_admits(found, request)) {
    // The one error that makes every client wait and try again here.
    answer_error(waiter, request.member_id, ErrorCode::kCoordinatorLoadInProgress);
    return;
  }
  Entry& entry = is_new_group ? create(request.group_id) : *found;
  Join join{context, request, waiter};
  if (!accepts(entry.group, request.member_id)) {
    entry.group.remove(request.member_id);
    answer_error(waiter, "", ErrorCode::kGroupMaxSizeReached);
  } else if (request.member_id.empty()) {
    join_new(entry, join);
  } else {
    join_existing(entry, join);
  }
  if (is_new_group) {
    records_.clear();
    add_new_group(records_, entry.group);
    writer_.write(records_, coordinator::Replay::kNo, nullptr);
  }
}

bool ClassicGroups::accepts(const ClassicGroup& group, std::string_view member_id) const {
  auto max_size = static_cast<size_t>(config_.max_size);
  const ClassicMember* member = group.member(member_id);
  switch (group.state()) {
    case GroupState::kPreparingRebalance:
      // Those who wait already count, so that the last to rejoin a group that is too large are left
      // out.
      return (member != nullptr && member->awaiting_join()) || group.awaiting_join() < max_size;
    case GroupState::kCompletingRebalance:
    case GroupState::kStable:
      return member != nullptr || group.members().size() < max_size;
    case GroupState::kEmpty:
    case GroupState::kDead:
      return true;
  }
  return true;
}

// A member that comes back with no more than it has is always welcome.
bool ClassicGroups::memory_admits(const Entry* entry, const JoinGroupRequest& request) {
  size_t bytes = ClassicMember::bytes_of(request.protocols);
  const ClassicMember* member = entry != nullptr ? entry->group.member(request.member_id) : nullptr;
  if (member == nullptr) {
    bytes += sizeof(ClassicMember) + sizeof(Entry);
  } else {
    bytes -= std::min(bytes, member->protocol_bytes());
  }
  return memory_.admits(bytes);
}

void ClassicGroups::join_new(Entry& entry, const Join& join) {
  const JoinGroupRequest& request = join.request;
  if (!entry.group.supports(request.protocol_type, request.protocols)) {
    answer_error(join.waiter, "", ErrorCode::kInconsistentGroupProtocol);
    return;
  }
  if (!request.group_instance_id) {
    join_new_dynamic(entry, join, new_member_id(join.context.client_id));
    return;
  }
  std::string new_id = new_member_id(*request.group_instance_id);
  if (ClassicMember* old = entry.group.static_member(*request.group_instance_id)) {
    replace_static_member(entry, join, *old, std::move(new_id));
  } else {
    add_member(entry, join, std::move(new_id));
  }
}

void ClassicGroups::join_new_dynamic(Entry& entry, const Join& join, std::string new_id) {
  if (join.context.version < kMemberIdRequiredFrom) {
    add_member(entry, join, std::move(new_id));
    return;
  }
  Session& session = entry.group.add_pending(new_id);
  session.start(environment_.timers(),
                environment_.now_ns() + uint64_t(join.request.session_timeout_ms) * 1'000'000);
  answer_error(join.waiter, new_id, ErrorCode::kMemberIdRequired);
}

void ClassicGroups::join_existing(Entry& entry, const Join& join) {
  ClassicGroup& group = entry.group;
  const JoinGroupRequest& request = join.request;
  if (!group.supports(request.protocol_type, request.protocols)) {
    answer_error(join.waiter, request.member_id, ErrorCode::kInconsistentGroupProtocol);
    return;
  }
  if (group.is_pending(request.member_id)) {
    // Static members never get an id without joining.
    if (request.group_instance_id) {
      answer_error(join.waiter, "", ErrorCode::kUnknownServerError);
      return;
    }
    add_member(entry, join, std::string(request.member_id));
    return;
  }
  ErrorCode error = group.validate(request.member_id, request.group_instance_id);
  if (error != ErrorCode::kNone) {
    answer_error(join.waiter, request.member_id, error);
    return;
  }
  rejoin(entry, *group.member(request.member_id), join);
}

void ClassicGroups::rejoin(Entry& entry, ClassicMember& member, const Join& join) {
  ClassicGroup& group = entry.group;
  bool same = member.matches(join.request.protocols);
  bool leader = group.is_leader(member.id());
  switch (group.state()) {
    case GroupState::kPreparingRebalance:
      update_member(entry, member, join);
      return;
    case GroupState::kCompletingRebalance:
      // The same metadata again: the answer was lost, the generation stands.
      if (!same) {
        update_member(entry, member, join);
        return;
      }
      break;
    case GroupState::kStable:
      // The leader may rejoin for reasons that its metadata does not show.
      if (leader || !same) {
        update_member(entry, member, join);
        return;
      }
      break;
    case GroupState::kEmpty:
    case GroupState::kDead:
      answer_error(join.waiter, member.id(), ErrorCode::kUnknownMemberId);
      return;
  }
  auto members = leader ? group.join_members() : decltype(group.join_members()){};
  JoinGroupResponse response;
  response.member_id = member.id();
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol_name();
  if (group.leader()) response.leader = *group.leader();
  response.members = members;
  join.waiter.answer(response);
}

void ClassicGroups::add_member(Entry& entry, const Join& join, std::string member_id) {
  ClassicGroup& group = entry.group;
  const JoinGroupRequest& request = join.request;
  auto member = std::make_unique<ClassicMember>(*this, memory_, group.id(), std::move(member_id));
  if (request.group_instance_id) member->instance_id = std::string(*request.group_instance_id);
  member->client_id = join.context.client_id;
  member->client_host = join.context.client_host;
  member->rebalance_timeout_ms = request.rebalance_timeout_ms;
  member->session_timeout_ms = request.session_timeout_ms;
  member->protocol_type = request.protocol_type;
  member->set_protocols(request.protocols);
  member->is_new = true;
  if (group.is(GroupState::kPreparingRebalance) && group.previous_state() == GroupState::kEmpty) {
    group.new_member_added = true;
  }
  ClassicMember& added = group.add(std::move(member), &join.waiter);
  // It does not know its id yet and cannot send heartbeats; a limit keeps dead ones from piling up.
  start_session(added, config_.new_member_join_timeout_ms);
  prepare_or_complete(entry);
}

void ClassicGroups::update_member(Entry& entry, ClassicMember& member, const Join& join) {
  entry.group.update(member, join.request.protocols, join.request.rebalance_timeout_ms,
                     join.request.session_timeout_ms, &join.waiter);
  prepare_or_complete(entry);
}

void ClassicGroups::replace_static_member(Entry& entry, const Join& join, ClassicMember& old,
                                          std::string new_id) {
  ClassicGroup& group = entry.group;
  auto write = std::make_unique<StaticReplacementWrite>(*this, entry, old, join.context.version);
  ClassicMember& member = group.replace_static(old, std::move(new_id));
  write->new_member_id = member.id();
  start_session(member);
  group.update(member, join.request.protocols, join.request.rebalance_timeout_ms,
               join.request.session_timeout_ms, &join.waiter);
  switch (group.state()) {
    case GroupState::kStable:
      if (group.protocol_name() != group.select_protocol()) {
        prepare_or_complete(entry);
        return;
      }
      // The assignment stands: the change is stored, and no other member notices.
      records_.clear();
      add_group_metadata(records_, group);
      writer_.write(records_, coordinator::Replay::kNo, write.release());
      return;
    case GroupState::kCompletingRebalance:
      // The leader may be assigning to the old id already.
      prepare_rebalance(entry);
      return;
    case GroupState::kPreparingRebalance:
    case GroupState::kEmpty:
    case GroupState::kDead:
      maybe_complete_join(entry);
      return;
  }
}

void ClassicGroups::static_member_stored(const StaticReplacementWrite& write, ErrorCode error) {
  Entry* found = entry(write.group_id, write.incarnation);
  if (found == nullptr) return;
  ClassicGroup& group = found->group;
  ClassicMember* member = group.member(write.new_member_id);
  // A rebalance that began meanwhile answers the join.
  if (member == nullptr || !member->awaiting_join() || !group.is(GroupState::kStable)) return;

  bool skips_assignment = write.version >= StaticReplacementWrite::kSkipAssignmentFrom;
  bool leader = group.is_leader(member->id());
  auto members =
      skips_assignment && leader ? group.join_members() : decltype(group.join_members()){};
  JoinGroupResponse response;
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol_name();
  if (error != ErrorCode::kNone) {
    response.error_code = proto::wire(error);
    response.leader = write.old_leader;
    group.answer_join(*member, response);
    group.update(*member, write.old_protocol_views(), write.old_rebalance_timeout_ms,
                 write.old_session_timeout_ms, nullptr);
    start_session(group.replace_static(*member, write.old_member_id));
    return;
  }
  // Before version 9 a client cannot be told to skip the assignment: it is not told that it leads.
  response.member_id = member->id();
  response.leader = skips_assignment ? std::string_view(group.leader().value()) : write.old_leader;
  response.skip_assignment = skips_assignment && leader;
  response.members = members;
  group.answer_join(*member, response);
}

std::string ClassicGroups::new_member_id(std::string_view prefix) {
  // A longer id could not be told to the client: strings have 16-bit lengths.
  constexpr size_t kUuidLength = 37;
  constexpr size_t kLongestPrefix = INT16_MAX - kUuidLength;
  prefix = utf8_prefix(prefix, kLongestPrefix);
  uint64_t high = environment_.random();
  uint64_t low = environment_.random();
  high = (high & ~uint64_t{0xF000}) | 0x4000;                // version 4
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);  // variant 2
  return fmt::format("{}-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", prefix, high >> 32,
                     high >> 16 & 0xFFFF, high & 0xFFFF, low >> 48, low & 0xFFFF'FFFF'FFFF);
}

}  // namespace pelton::broker::group
