// DescribeCluster: the brokers, as the clients of this listener see them.

#include "proto/messages/describe_cluster.h"

#include "broker/broker_shard.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::DescribeClusterRequest;
using proto::DescribeClusterResponse;
using proto::ErrorCode;

constexpr int8_t kBrokers = 1;
constexpr int8_t kControllers = 2;

constexpr int16_t kEndpointTypeFrom = 1;

void refuse(Request& request, const DescribeClusterRequest& asked) {
  bool known = asked.endpoint_type == kControllers || asked.endpoint_type == kBrokers;
  ErrorCode error = !known ? ErrorCode::kUnsupportedEndpointType
                    : request.version() >= kEndpointTypeFrom ? ErrorCode::kMismatchedEndpointType
                                                             : ErrorCode::kInvalidRequest;
  DescribeClusterResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.error_message = !known ? "there is no such type of endpoint"
                           : request.connection().controller
                               ? "this listener has controllers, not brokers"
                               : "this listener has brokers, not controllers";
  request.respond(response);
}

}  // namespace

void handle_describe_cluster(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<DescribeClusterRequest>();
  if (asked == nullptr) return;
  int8_t here_are = request.connection().controller ? kControllers : kBrokers;
  if (asked->endpoint_type != here_are) return refuse(request, *asked);

  Topology view = topology(*here.catalog, request.connection(), here.config);
  auto nodes =
      request.arena().array<DescribeClusterResponse::DescribeClusterBroker>(view.brokers().size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const BrokerNode& broker = view.brokers()[i];
    nodes[i] = {.broker_id = broker.id, .host = broker.host, .port = broker.port, .rack = broker.rack};
  }
  DescribeClusterResponse response;
  response.endpoint_type = here_are;
  response.cluster_id = here.log_dir.cluster_id();
  response.controller_id = view.controller();
  response.brokers = nodes;
  if (asked->include_cluster_authorized_operations) {
    response.cluster_authorized_operations =
        authorized_operations(request, ResourceType::kCluster, kClusterResource);
  }
  request.respond(response);
}

}  // namespace pelton::broker
