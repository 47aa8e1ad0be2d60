// SyncGroup: answered with the member's assignment when the leader's is stored.

#include "proto/messages/sync_group.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::SyncGroupRequest;
using proto::SyncGroupResponse;

constexpr int16_t kProtocolNamedFrom = 5;

struct Syncing final : group::SyncWaiter {
  Syncing(Request& its_request, const SyncGroupRequest& its_asked)
      : request(its_request), asked(its_asked) {}
  void answer(const SyncGroupResponse& response) override { request.respond(response); }

  Request& request;
  const SyncGroupRequest& asked;
};

void respond_error(Request& request, ErrorCode error) {
  SyncGroupResponse response;
  response.error_code = proto::wire(error);
  request.respond(response);
}

void sync(BrokerShard& here, Request& request) {
  auto& syncing = *static_cast<Syncing*>(request.state);
  auto found = here.groups->find(syncing.asked.group_id);
  if (found.error != ErrorCode::kNone) return respond_error(request, found.error);
  found.coordinator->groups().sync(syncing.asked, syncing);
}

}  // namespace

void handle_sync_group(BrokerShard& here, Request& request) {
  auto* asked = request.decode<SyncGroupRequest>();
  if (asked == nullptr) return;
  bool names_protocol = asked->protocol_type && asked->protocol_name;
  if (request.version() >= kProtocolNamedFrom && !names_protocol)
    return respond_error(request, ErrorCode::kInconsistentGroupProtocol);
  if (!authorize(request, Operation::kRead, ResourceType::kGroup, asked->group_id))
    return respond_error(request, ErrorCode::kGroupAuthorizationFailed);
  if (asked->group_id.empty()) return respond_error(request, ErrorCode::kInvalidGroupId);
  request.state = &request.make_state<Syncing>(request, *asked);
  if (!group::go_to_coordinator(here, request, asked->group_id, &sync))
    respond_error(request, ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
