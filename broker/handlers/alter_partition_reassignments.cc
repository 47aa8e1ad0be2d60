// AlterPartitionReassignments: the only assignment there can be is the one there is. So no reassignment is ever
// under way, and whatever asks for another broker is refused.

#include "proto/messages/alter_partition_reassignments.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/snapshot.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::AlterPartitionReassignmentsRequest;
using proto::AlterPartitionReassignmentsResponse;
using proto::ErrorCode;
using Asked = AlterPartitionReassignmentsRequest::ReassignablePartition;
using TopicAnswer = AlterPartitionReassignmentsResponse::ReassignableTopicResponse;
using PartitionAnswer = AlterPartitionReassignmentsResponse::ReassignablePartitionResponse;

struct Outcome {
  ErrorCode error = ErrorCode::kNone;
  std::string_view why;
};

Outcome reassign(const BrokerShard& here, const TopicInfo* topic, const Asked& asked) {
  if (topic == nullptr) return {ErrorCode::kUnknownTopicOrPartition, "there is no such topic"};
  if (asked.partition_index < 0 || static_cast<size_t>(asked.partition_index) >= topic->partitions.size()) {
    return {ErrorCode::kUnknownTopicOrPartition, "there is no such partition"};
  }
  if (!asked.replicas) return {ErrorCode::kNoReassignmentInProgress, "no reassignment is in progress"};
  if (asked.replicas->empty()) return {ErrorCode::kInvalidReplicaAssignment, "the assignment names no broker"};
  for (size_t i = 0; i < asked.replicas->size(); ++i) {
    if ((*asked.replicas)[i].value != here.config.node_id) {
      return {ErrorCode::kInvalidReplicaAssignment, "the assignment names a broker that is not registered"};
    }
    if (i > 0) return {ErrorCode::kInvalidReplicaAssignment, "the assignment names a broker twice"};
  }
  return {};
}

}  // namespace

void handle_alter_partition_reassignments(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<AlterPartitionReassignmentsRequest>();
  if (asked == nullptr) return;
  AlterPartitionReassignmentsResponse response;
  response.allow_replication_factor_change = asked->topics.empty() || asked->allow_replication_factor_change;
  response.error_message = std::nullopt;
  if (!authorize(request, Operation::kAlter, ResourceType::kCluster, kClusterResource)) {
    response.error_code = static_cast<int16_t>(ErrorCode::kClusterAuthorizationFailed);
    response.error_message = "not allowed to reassign partitions";
    return request.respond(response);
  }
  auto topics = request.arena().array<TopicAnswer>(asked->topics.size());
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& named = asked->topics[i];
    const TopicInfo* topic = here.catalog->find(std::string_view(named.name));
    auto partitions = request.arena().array<PartitionAnswer>(named.partitions.size());
    for (size_t j = 0; j < partitions.size(); ++j) {
      Outcome outcome = reassign(here, topic, named.partitions[j]);
      partitions[j].partition_index = named.partitions[j].partition_index;
      partitions[j].error_code = static_cast<int16_t>(outcome.error);
      partitions[j].error_message = std::nullopt;
      if (outcome.error != ErrorCode::kNone) partitions[j].error_message = outcome.why;
    }
    topics[i] = {.name = named.name, .partitions = partitions};
  }
  response.responses = topics;
  request.respond(response);
}

}  // namespace pelton::broker
