// DescribeQuorum: the quorum of the metadata log: this node, which is its only voter and leads it.

#include "proto/messages/describe_quorum.h"

#include <string>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/metadata_log.h"
#include "broker/catalog/writer.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::DescribeQuorumRequest;
using proto::DescribeQuorumResponse;
using proto::ErrorCode;
using Topic = DescribeQuorumResponse::TopicData;
using Row = DescribeQuorumResponse::PartitionData;
using Replica = DescribeQuorumResponse::ReplicaState;
using Node = DescribeQuorumResponse::Node;

void fail(Request& request, ErrorCode error) {
  DescribeQuorumResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.error_message = proto::name(error);
  request.respond(response);
}

bool asks_for_metadata(const DescribeQuorumRequest& asked) {
  return asked.topics.size() == 1 && asked.topics[0].topic_name == kMetadataTopic &&
         asked.topics[0].partitions.size() == 1 && asked.topics[0].partitions[0].partition_index == 0;
}

// Anything else than the one partition there is: nobody has it.
void respond_unknown(Request& request, const DescribeQuorumRequest& asked) {
  proto::Arena& arena = request.arena();
  auto topics = arena.array<Topic>(asked.topics.size());
  for (size_t i = 0; i < topics.size(); ++i) {
    auto partitions = arena.array<Row>(asked.topics[i].partitions.size());
    for (size_t j = 0; j < partitions.size(); ++j) {
      partitions[j].partition_index = asked.topics[i].partitions[j].partition_index;
      partitions[j].error_code = static_cast<int16_t>(ErrorCode::kUnknownTopicOrPartition);
      partitions[j].error_message = "a quorum has the partition __cluster_metadata-0 alone";
    }
    topics[i].topic_name = asked.topics[i].topic_name;
    topics[i].partitions = partitions;
  }
  DescribeQuorumResponse response;
  response.error_message = "";
  response.topics = topics;
  request.respond(response);
}

void respond(BrokerShard& here, Request& request) {
  auto& log = here.catalog_writer->metadata_log();
  int64_t now_ms = here.shard.loop().wall_ms();
  proto::BrokerId self(here.config.node_id);
  Replica voter;
  voter.replica_id = self;
  voter.log_end_offset = log.log().next_offset();
  voter.last_fetch_timestamp = voter.last_caught_up_timestamp = now_ms;
  Row partition;
  partition.error_message = "";
  partition.leader_id = self;
  partition.leader_epoch = log.leader_epoch();
  partition.high_watermark = log.high_watermark().offset;
  partition.current_voters = {&voter, 1};
  Topic topic;
  topic.topic_name = kMetadataTopic;
  topic.partitions = {&partition, 1};

  std::vector<DescribeQuorumResponse::Listener> listeners;
  std::vector<std::string> hosts(here.config.controller_listeners.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    const ListenerConfig& listener = here.config.controller_listeners[i];
    const SocketAddress& dialled = request.connection().dialled;
    hosts[i] = !listener.advertised_host.empty() ? listener.advertised_host
               : !listener.bind.host.empty()     ? listener.bind.host
                                                 : dialled.host;
    uint16_t port = listener.advertised_port != 0 ? listener.advertised_port : listener.bind.port;
    listeners.push_back({.name = listener.name, .host = hosts[i], .port = port});
  }
  Node node{.node_id = self, .listeners = listeners};
  DescribeQuorumResponse response;
  response.error_message = "";
  response.topics = {&topic, 1};
  response.nodes = {&node, 1};
  request.respond(response);
}

}  // namespace

void handle_describe_quorum(BrokerShard&, Request& request) {
  const auto* asked = request.decode<DescribeQuorumRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kDescribe, ResourceType::kCluster, kClusterResource)) {
    return fail(request, ErrorCode::kClusterAuthorizationFailed);
  }
  if (!asks_for_metadata(*asked)) return respond_unknown(request, *asked);
  request.hop(kCatalogShard, respond);
}

}  // namespace pelton::broker
