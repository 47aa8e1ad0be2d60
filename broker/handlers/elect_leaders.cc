// ElectLeaders: the single replica of every partition is its preferred leader and leads it already.

#include "proto/messages/elect_leaders.h"

#include <algorithm>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/snapshot.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ElectLeadersRequest;
using proto::ElectLeadersResponse;
using proto::ErrorCode;
using TopicAnswer = ElectLeadersResponse::ReplicaElectionResult;
using PartitionAnswer = ElectLeadersResponse::PartitionResult;

constexpr int8_t kPreferred = 0;
constexpr int8_t kUnclean = 1;

// What of a partition's election can fail here, for the partition alone.
PartitionAnswer elect(const TopicInfo* topic, int32_t index, int8_t type) {
  PartitionAnswer answer{.partition_id = index};
  auto tell = [&](ErrorCode error, std::string_view why) {
    answer.error_code = static_cast<int16_t>(error);
    answer.error_message = why;
    return answer;
  };
  if (topic == nullptr) return tell(ErrorCode::kUnknownTopicOrPartition, "there is no such topic");
  if (index < 0 || static_cast<size_t>(index) >= topic->partitions.size()) {
    return tell(ErrorCode::kUnknownTopicOrPartition, "there is no such partition");
  }
  const PartitionInfo& partition = topic->partitions[static_cast<size_t>(index)];
  bool well_led = type == kUnclean ? partition.leader >= 0
                                   : !partition.replicas.empty() && partition.leader == partition.replicas[0];
  if (well_led) return tell(ErrorCode::kElectionNotNeeded, "the partition has the leader it should have");
  return type == kUnclean ? tell(ErrorCode::kEligibleLeadersNotAvailable, "no replica of it is on this broker")
                          : tell(ErrorCode::kPreferredLeaderNotAvailable, "its first replica is not this broker");
}

void respond(Request& request, ErrorCode error, std::span<TopicAnswer> results) {
  ElectLeadersResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.replica_election_results = results;
  request.respond(response);
}

// An error that is everybody's is told of each partition: answers of version 0 have no other place for it.
void fail(Request& request, const ElectLeadersRequest& asked, ErrorCode error, std::string_view why) {
  if (!asked.topic_partitions) return respond(request, error, {});
  auto topics = request.arena().array<TopicAnswer>(asked.topic_partitions->size());
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& topic = (*asked.topic_partitions)[i];
    auto partitions = request.arena().array<PartitionAnswer>(topic.partitions.size());
    for (size_t j = 0; j < partitions.size(); ++j) {
      partitions[j] = {.partition_id = topic.partitions[j],
                       .error_code = static_cast<int16_t>(error),
                       .error_message = why};
    }
    topics[i] = {.topic = topic.topic, .partition_result = partitions};
  }
  respond(request, error, topics);
}

// Every topic; of its partitions those whose election is needed.
void elect_all(const CatalogSnapshot& catalog, Request& request, int8_t type) {
  auto topics = request.arena().array<TopicAnswer>(catalog.topics().size());
  size_t i = 0;
  for (const auto& [name, topic] : catalog.topics()) {
    std::vector<PartitionAnswer> needed;
    for (const PartitionInfo& partition : topic->partitions) {
      PartitionAnswer answer = elect(topic.get(), partition.index, type);
      if (answer.error_code != static_cast<int16_t>(ErrorCode::kElectionNotNeeded)) needed.push_back(answer);
    }
    auto partitions = request.arena().array<PartitionAnswer>(needed.size());
    std::ranges::copy(needed, partitions.begin());
    topics[i++] = {.topic = name, .partition_result = partitions};
  }
  respond(request, ErrorCode::kNone, topics);
}

}  // namespace

void handle_elect_leaders(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<ElectLeadersRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kAlter, ResourceType::kCluster, kClusterResource)) {
    return fail(request, *asked, ErrorCode::kClusterAuthorizationFailed, "not allowed to elect leaders");
  }
  int8_t type = asked->election_type;
  bool names_none = asked->topic_partitions && asked->topic_partitions->empty();
  if (!names_none && type != kPreferred && type != kUnclean) {
    return fail(request, *asked, ErrorCode::kInvalidRequest, "there is no such type of election");
  }
  if (!asked->topic_partitions) return elect_all(*here.catalog, request, type);
  auto topics = request.arena().array<TopicAnswer>(asked->topic_partitions->size());
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& named = (*asked->topic_partitions)[i];
    const TopicInfo* topic = here.catalog->find(std::string_view(named.topic));
    auto partitions = request.arena().array<PartitionAnswer>(named.partitions.size());
    for (size_t j = 0; j < partitions.size(); ++j) partitions[j] = elect(topic, named.partitions[j], type);
    topics[i] = {.topic = named.topic, .partition_result = partitions};
  }
  respond(request, ErrorCode::kNone, topics);
}

}  // namespace pelton::broker
