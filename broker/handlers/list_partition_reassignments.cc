// ListPartitionReassignments: none is ever under way with one broker.

#include "proto/messages/list_partition_reassignments.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {

void handle_list_partition_reassignments(BrokerShard&, Request& request) {
  const auto* asked = request.decode<proto::ListPartitionReassignmentsRequest>();
  if (asked == nullptr) return;
  proto::ListPartitionReassignmentsResponse response;
  response.error_message = std::nullopt;
  if (!authorize(request, Operation::kDescribe, ResourceType::kCluster, kClusterResource)) {
    response.error_code = static_cast<int16_t>(proto::ErrorCode::kClusterAuthorizationFailed);
    response.error_message = "not allowed to describe the cluster";
  }
  request.respond(response);
}

}  // namespace pelton::broker
