// LeaveGroup: one member (before version 3) or several.

#include "proto/messages/leave_group.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::LeaveGroupRequest;
using proto::LeaveGroupResponse;

constexpr int16_t kSeveralMembersFrom = 3;

void respond_error(Request& request, ErrorCode error) {
  LeaveGroupResponse response;
  response.error_code = proto::wire(error);
  request.respond(response);
}

struct Leaving final : coordinator::Continuation {
  Leaving(Request& its_request, const LeaveGroupRequest& its_asked)
      : request(its_request), asked(its_asked) {}

  void done(ErrorCode error) override {
    if (error != ErrorCode::kNone) return respond_error(request, error);
    LeaveGroupResponse response;
    response.members = answers;
    // The old answer has room for the one member's error only.
    if (request.version() < kSeveralMembersFrom) response.error_code = answers.front().error_code;
    request.respond(response);
  }

  Request& request;
  const LeaveGroupRequest& asked;
  std::span<LeaveGroupResponse::MemberResponse> answers;
};

void leave(BrokerShard& here, Request& request) {
  auto& leaving = *static_cast<Leaving*>(request.state);
  auto found = here.groups->find(leaving.asked.group_id);
  if (found.error != ErrorCode::kNone) return respond_error(request, found.error);
  leaving.answers =
      request.arena().array<LeaveGroupResponse::MemberResponse>(leaving.asked.members.size());
  found.coordinator->groups().leave(leaving.asked.group_id, leaving.asked.members, leaving.answers);
  found.writer->after_pending(leaving);
}

}  // namespace

void handle_leave_group(BrokerShard& here, Request& request) {
  auto* asked = request.decode<LeaveGroupRequest>();
  if (asked == nullptr) return;
  if (request.version() < kSeveralMembersFrom) {
    asked->members = request.arena().array<LeaveGroupRequest::MemberIdentity>(1);
    asked->members[0].member_id = asked->member_id;
  }
  if (!answer_has_room(request.arena(),
                       asked->members.size() * sizeof(LeaveGroupResponse::MemberResponse)))
    return respond_error(request, ErrorCode::kInvalidRequest);
  if (!authorize(request, Operation::kRead, ResourceType::kGroup, asked->group_id))
    return respond_error(request, ErrorCode::kGroupAuthorizationFailed);
  if (asked->group_id.empty()) return respond_error(request, ErrorCode::kInvalidGroupId);
  request.state = &request.make_state<Leaving>(request, *asked);
  if (!group::go_to_coordinator(here, request, asked->group_id, &leave))
    respond_error(request, ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
