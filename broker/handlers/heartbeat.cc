// Heartbeat: keeps a member's session alive and tells it of a rebalance.

#include "proto/messages/heartbeat.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::HeartbeatRequest;
using proto::HeartbeatResponse;

void respond(Request& request, ErrorCode error) {
  HeartbeatResponse response;
  response.error_code = proto::wire(error);
  request.respond(response);
}

void beat(BrokerShard& here, Request& request) {
  auto& asked = *static_cast<HeartbeatRequest*>(request.state);
  auto found = here.groups->find(asked.group_id);
  // While the group loads no session can run out: the member may go on.
  if (found.error == ErrorCode::kCoordinatorLoadInProgress)
    return respond(request, ErrorCode::kNone);
  if (found.error != ErrorCode::kNone) return respond(request, found.error);
  respond(request, found.coordinator->groups().heartbeat(asked));
}

}  // namespace

void handle_heartbeat(BrokerShard& here, Request& request) {
  auto* asked = request.decode<HeartbeatRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kRead, ResourceType::kGroup, asked->group_id))
    return respond(request, ErrorCode::kGroupAuthorizationFailed);
  if (asked->group_id.empty()) return respond(request, ErrorCode::kInvalidGroupId);
  request.state = asked;
  if (!group::go_to_coordinator(here, request, asked->group_id, &beat))
    respond(request, ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
