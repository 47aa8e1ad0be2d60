// JoinGroup: answered when the group has a generation for the member, or at once with an error.

#include "proto/messages/join_group.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/client_host.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::JoinGroupRequest;
using proto::JoinGroupResponse;

struct Joining final : group::JoinWaiter {
  Joining(Request& its_request, const JoinGroupRequest& its_asked)
      : request(its_request), asked(its_asked) {}
  void answer(const JoinGroupResponse& response) override { request.respond(response); }

  Request& request;
  const JoinGroupRequest& asked;
};

void respond_error(Request& request, ErrorCode error, std::string_view member_id = {}) {
  JoinGroupResponse response;
  response.error_code = proto::wire(error);
  response.member_id = member_id;
  response.protocol_name = std::nullopt;
  request.respond(response);
}

void join(BrokerShard& here, Request& request) {
  auto& joining = *static_cast<Joining*>(request.state);
  auto found = here.groups->find(joining.asked.group_id);
  if (found.error != ErrorCode::kNone) return respond_error(request, found.error);
  group::JoinContext context{.version = request.version(),
                             .client_id = request.client_id(),
                             .client_host = group::client_host(request)};
  found.coordinator->groups().join(context, joining.asked, joining);
}

}  // namespace

void handle_join_group(BrokerShard& here, Request& request) {
  auto* asked = request.decode<JoinGroupRequest>();
  if (asked == nullptr) return;
  // Version 0 has one timeout for both.
  if (request.version() == 0) asked->rebalance_timeout_ms = asked->session_timeout_ms;
  if (!authorize(request, Operation::kRead, ResourceType::kGroup, asked->group_id))
    return respond_error(request, ErrorCode::kGroupAuthorizationFailed);
  auto config = group::GroupConfig::of(here.config);
  ErrorCode error = group::ClassicGroups::check_join(config, *asked);
  if (error != ErrorCode::kNone) return respond_error(request, error, asked->member_id);
  request.state = &request.make_state<Joining>(request, *asked);
  if (!group::go_to_coordinator(here, request, asked->group_id, &join))
    respond_error(request, ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
