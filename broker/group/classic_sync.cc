// SyncGroup, Heartbeat and LeaveGroup.
#include <utility>

#include "broker/group/classic_groups.h"

namespace pelton::broker::group {

using proto::ErrorCode;
using proto::SyncGroupRequest;
using proto::SyncGroupResponse;

// The record that stores the leader's assignment; members get theirs when it is committed. Owned by
// itself from the write until done().
class ClassicGroups::AssignmentWrite final : public coordinator::Continuation {
 public:
  AssignmentWrite(ClassicGroups& its_groups, const Entry& entry)
      : groups(its_groups),
        group_id(entry.group.id()),
        incarnation(entry.incarnation),
        generation(entry.group.generation()) {}
  void done(ErrorCode error) override {
    groups.assignment_stored(*this, error);
    delete this;
  }

  ClassicGroups& groups;
  const std::string group_id;
  const uint64_t incarnation;
  const int32_t generation;
  Assignments assignments;
};

namespace {

void answer_error(SyncWaiter& waiter, ErrorCode error) {
  SyncGroupResponse response;
  response.error_code = proto::wire(error);
  waiter.answer(response);
}

bool inconsistent(const std::optional<std::string_view>& asked,
                  const std::optional<std::string>& present) {
  return asked && present && *asked != *present;
}

SyncGroupResponse assignment_of(const ClassicGroup& group, const ClassicMember& member) {
  SyncGroupResponse response;
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol_name();
  response.assignment = member.assignment;
  return response;
}

}  // namespace

ErrorCode ClassicGroups::check_sync(const ClassicGroup& group,
                                    const SyncGroupRequest& request) const {
  ErrorCode error = group.validate(request.member_id, request.group_instance_id);
  if (error != ErrorCode::kNone) return error;
  if (request.generation_id != group.generation()) return ErrorCode::kIllegalGeneration;
  if (inconsistent(request.protocol_type, group.protocol_type()) ||
      inconsistent(request.protocol_name, group.protocol_name())) {
    return ErrorCode::kInconsistentGroupProtocol;
  }
  return ErrorCode::kNone;
}

void ClassicGroups::sync(const SyncGroupRequest& request, SyncWaiter& waiter) {
  Entry* found = entry(request.group_id);
  if (found == nullptr || found->group.is(GroupState::kEmpty)) {
    answer_error(waiter, ErrorCode::kUnknownMemberId);
    return;
  }
  ClassicGroup& group = found->group;
  ErrorCode error = check_sync(group, request);
  if (error != ErrorCode::kNone) {
    answer_error(waiter, error);
    return;
  }
  switch (group.state()) {
    case GroupState::kPreparingRebalance:
      answer_error(waiter, ErrorCode::kRebalanceInProgress);
      return;
    case GroupState::kCompletingRebalance:
      sync_completing(*found, request, waiter);
      return;
    case GroupState::kStable: {
      sync_received(*found, request.member_id);
      waiter.answer(assignment_of(group, *group.member(request.member_id)));
      return;
    }
    case GroupState::kEmpty:
    case GroupState::kDead:
      answer_error(waiter, ErrorCode::kUnknownMemberId);
      return;
  }
}

void ClassicGroups::sync_completing(Entry& entry, const SyncGroupRequest& request,
                                    SyncWaiter& waiter) {
  ClassicGroup& group = entry.group;
  ClassicMember& member = *group.member(request.member_id);
  if (member.awaiting_sync()) {
    // The client gave up on its earlier request and sent this one.
    SyncGroupResponse superseded;
    superseded.error_code = proto::wire(ErrorCode::kRebalanceInProgress);
    group.answer_sync(member, superseded);
  }
  member.sync_waiter = &waiter;
  sync_received(entry, member.id());
  // An assignment that is being stored stands: the log must not hold another one than the members get.
  if (!group.is_leader(member.id()) || entry.assigned_generation == group.generation()) return;

  entry.assigned_generation = group.generation();
  auto write = std::make_unique<AssignmentWrite>(*this, entry);
  for (const auto& assignment : request.assignments) {
    if (group.member(assignment.member_id) == nullptr) continue;
    write->assignments.insert_or_assign(std::string(assignment.member_id),
                                        to_blob(assignment.assignment));
  }
  records_.clear();
  add_group_metadata(records_, group, write->assignments);
  writer_.write(records_, coordinator::Replay::kNo, write.release());
}

void ClassicGroups::assignment_stored(AssignmentWrite& write, ErrorCode error) {
  Entry* found = entry(write.group_id, write.incarnation);
  if (found == nullptr) return;
  ClassicGroup& group = found->group;
  // A member that joined or left meanwhile began another rebalance.
  if (!group.is(GroupState::kCompletingRebalance) || group.generation() != write.generation) return;
  if (error != ErrorCode::kNone) {
    found->assigned_generation = -1;
    for (const auto& [id, member] : group.members()) member->set_assignment({});
    propagate_assignment(group, error);
    prepare_or_complete(*found);
    return;
  }
  for (const auto& [id, member] : group.members()) {
    auto assigned = write.assignments.find(id);
    member->set_assignment(assigned == write.assignments.end() ? Blob{}
                                                               : std::move(assigned->second));
  }
  propagate_assignment(group, ErrorCode::kNone);
  group.transition_to(GroupState::kStable, now_ms());
}

void ClassicGroups::propagate_assignment(ClassicGroup& group, ErrorCode error) {
  for (const auto& [id, member] : group.members()) {
    SyncGroupResponse response;
    if (error == ErrorCode::kNone) response = assignment_of(group, *member);
    response.error_code = proto::wire(error);
    // Sessions that ran out while the group waited were passed over: they begin again.
    if (group.answer_sync(*member, response)) start_session(*member);
  }
}

void ClassicGroups::sync_received(Entry& entry, std::string_view member_id) {
  auto& pending = entry.group.pending_sync();
  auto found = pending.find(member_id);
  if (found != pending.end()) pending.erase(found);
  if (pending.empty()) environment_.timers().cancel(entry.sync_timer);
}

ErrorCode ClassicGroups::heartbeat(const proto::HeartbeatRequest& request) {
  Entry* found = entry(request.group_id);
  if (found == nullptr) return ErrorCode::kUnknownMemberId;
  ClassicGroup& group = found->group;
  ErrorCode error = group.validate(request.member_id, request.group_instance_id);
  if (error != ErrorCode::kNone) return error;
  if (request.generation_id != group.generation()) return ErrorCode::kIllegalGeneration;
  if (group.is(GroupState::kEmpty)) return ErrorCode::kUnknownMemberId;
  start_session(*group.member(request.member_id));
  return group.is(GroupState::kPreparingRebalance) ? ErrorCode::kRebalanceInProgress
                                                   : ErrorCode::kNone;
}

ErrorCode ClassicGroups::leave(std::string_view group_id,
                               std::span<const proto::LeaveGroupRequest::MemberIdentity> members,
                               std::span<proto::LeaveGroupResponse::MemberResponse> answers) {
  Entry* found = entry(group_id);
  bool any_left = false;
  for (size_t i = 0; i < members.size(); ++i) {
    ErrorCode error =
        found == nullptr ? ErrorCode::kUnknownMemberId : leave_one(*found, members[i]);
    any_left |= error == ErrorCode::kNone;
    answers[i].member_id = members[i].member_id;
    answers[i].group_instance_id = members[i].group_instance_id;
    answers[i].error_code = proto::wire(error);
  }
  if (!any_left) return ErrorCode::kNone;
  const ClassicGroup& group = found->group;
  if (group.is(GroupState::kStable) || group.is(GroupState::kCompletingRebalance)) {
    prepare_or_complete(*found);
  } else {
    maybe_complete_join(*found);
  }
  return ErrorCode::kNone;
}

ErrorCode ClassicGroups::leave_one(Entry& entry,
                                   const proto::LeaveGroupRequest::MemberIdentity& member) {
  ClassicGroup& group = entry.group;
  if (member.member_id.empty()) {
    // An administrator removes a static member by its instance id.
    ClassicMember* named =
        member.group_instance_id ? group.static_member(*member.group_instance_id) : nullptr;
    if (named == nullptr) return ErrorCode::kUnknownMemberId;
    group.remove(named->id());
    return ErrorCode::kNone;
  }
  if (!group.is_pending(member.member_id)) {
    ErrorCode error = group.validate(member.member_id, member.group_instance_id);
    if (error != ErrorCode::kNone) return error;
  }
  group.remove(member.member_id);
  return ErrorCode::kNone;
}

}  // namespace pelton::broker::group
