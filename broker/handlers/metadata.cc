// Metadata: brokers, topics, partitions; creates topics that are asked for and not there.

#include "proto/messages/metadata.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/internal_topics.h"
#include "broker/catalog/topic_changes.h"
#include "broker/catalog/writer.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::MetadataRequest;
using proto::MetadataResponse;
using Asked = MetadataRequest::MetadataRequestTopic;
using Topic = MetadataResponse::MetadataResponseTopic;
using PartitionAnswer = MetadataResponse::MetadataResponsePartition;

constexpr int16_t kTopicIdsFrom = 12;  // as what is asked for; answers carry them from 10 on

struct State {
  const MetadataRequest* asked = nullptr;
  // Why a topic could not be created; kNone is never in it.
  std::map<std::string, ErrorCode, std::less<>> refused;
};

bool asks_for_all(const MetadataRequest& asked, int16_t version) {
  return version == 0 ? asked.topics->empty() : !asked.topics.has_value();
}

// Topics that one request may create; clients ask again for what is still missing.
constexpr size_t kMaxCreated = 100;

class AutoCreate final : public CatalogChange {
 public:
  AutoCreate(BrokerShard& here, Request& request, State& state, Request::Continue next)
      : here_(here), request_(request), state_(state), next_(next) {}

  void plan(const CatalogReplay& catalog, MetadataRecords& records) override {
    for (const Asked& topic : *state_.asked->topics) {
      if (!topic.name || catalog.find(*topic.name) != nullptr) continue;
      if (planned_.size() == kMaxCreated) break;
      if (!planned_.insert(std::string(*topic.name)).second) continue;
      if (ErrorCode error = plan_one(catalog, *topic.name, records); error != ErrorCode::kNone) {
        state_.refused[std::string(*topic.name)] = error;
      }
    }
  }
  void done(ErrorCode) override { request_.hop(request_.home(), next_); }

 private:
  ErrorCode plan_one(const CatalogReplay& catalog, std::string_view name, MetadataRecords& records) {
    NewTopic topic;
    topic.name = name;
    if (name == kOffsetsTopic) {
      topic = internal_topic(name, here_.config);
    } else if (is_internal_topic(name)) {
      return ErrorCode::kUnknownTopicOrPartition;  // only its coordinator makes it
    }
    return plan_create_topic(catalog, here_.config, replica_home(here_), topic,
                             make_topic_id(here_.shard.io()), records)
        .error;
  }

  BrokerShard& here_;
  Request& request_;
  State& state_;
  Request::Continue next_;
  std::set<std::string> planned_;
};

class Answer {
 public:
  Answer(BrokerShard& here, Request& request, const State& state)
      : here_(here),
        request_(request),
        state_(state),
        catalog_(*here.catalog),
        topology_(catalog_, request.connection(), here.config) {}

  void respond() {
    MetadataResponse response;
    auto brokers = topology_.brokers();
    auto nodes = request_.arena().array<MetadataResponse::MetadataResponseBroker>(brokers.size());
    for (size_t i = 0; i < brokers.size(); ++i) {
      nodes[i] = {.node_id = brokers[i].id, .host = brokers[i].host, .port = brokers[i].port,
                  .rack = brokers[i].rack};
    }
    response.brokers = nodes;
    response.cluster_id = here_.log_dir.cluster_id();
    response.controller_id = topology_.controller();
    fill_topics();
    response.topics = topics_;
    if (state_.asked->include_cluster_authorized_operations) {
      response.cluster_authorized_operations =
          authorized_operations(request_, ResourceType::kCluster, kClusterResource);
    }
    request_.respond(response);
  }

 private:
  void fill_topics() {
    if (asks_for_all(*state_.asked, request_.version())) {
      for (const auto& [name, topic] : catalog_.topics()) {
        if (authorize(request_, Operation::kDescribe, ResourceType::kTopic, name)) add(*topic);
      }
      return;
    }
    std::set<std::string_view> names;
    std::set<Uuid> ids;
    for (const Asked& topic : *state_.asked->topics) {
      bool by_id = request_.version() >= kTopicIdsFrom && !topic.topic_id.is_zero();
      if (by_id ? ids.insert(topic.topic_id).second : names.insert(*topic.name).second) {
        by_id ? add_by_id(topic.topic_id) : add_by_name(*topic.name);
      }
    }
  }

  void add_by_id(const Uuid& id) {
    const TopicInfo* topic = catalog_.find(id);
    if (topic != nullptr &&
        authorize(request_, Operation::kDescribe, ResourceType::kTopic, topic->name)) {
      return add(*topic);
    }
    topics_.push_back({.error_code = static_cast<int16_t>(ErrorCode::kUnknownTopicId),
                       .name = std::nullopt,
                       .topic_id = id});
  }

  void add_by_name(std::string_view name) {
    ErrorCode error = ErrorCode::kUnknownTopicOrPartition;
    if (!authorize(request_, Operation::kDescribe, ResourceType::kTopic, name)) {
      error = ErrorCode::kTopicAuthorizationFailed;
    } else if (const TopicInfo* topic = catalog_.find(name)) {
      return add(*topic);
    } else if (auto refused = state_.refused.find(name); refused != state_.refused.end()) {
      error = refused->second;
    } else if (!check_topic_name(name).empty()) {
      error = ErrorCode::kInvalidTopicException;
    }
    topics_.push_back({.error_code = static_cast<int16_t>(error),
                       .name = name,
                       .is_internal = is_internal_topic(name)});
  }

  void add(const TopicInfo& topic) {
    Topic answer{.name = topic.name, .topic_id = topic.id, .is_internal = topic.internal};
    auto partitions = request_.arena().array<PartitionAnswer>(topic.partitions.size());
    for (size_t i = 0; i < partitions.size(); ++i) fill(topic.partitions[i], partitions[i]);
    answer.partitions = partitions;
    if (state_.asked->include_topic_authorized_operations) {
      answer.topic_authorized_operations =
          authorized_operations(request_, ResourceType::kTopic, topic.name);
    }
    topics_.push_back(answer);
  }

  void fill(const PartitionInfo& info, PartitionAnswer& answer) {
    proto::BrokerId leader = topology_.leader(info);
    if (leader.value < 0) answer.error_code = static_cast<int16_t>(ErrorCode::kLeaderNotAvailable);
    answer.partition_index = info.index;
    answer.leader_id = leader;
    answer.leader_epoch = info.leader_epoch;
    answer.replica_nodes = topology_.replicas(info, request_.arena());
    answer.isr_nodes = topology_.in_sync(info, request_.arena());
    answer.offline_replicas = topology_.offline(info, request_.arena());
  }

  BrokerShard& here_;
  Request& request_;
  const State& state_;
  const CatalogSnapshot& catalog_;
  Topology topology_;
  std::vector<Topic> topics_;
};

void answer(BrokerShard& here, Request& request) {
  Answer(here, request, *static_cast<State*>(request.state)).respond();
}

void create_missing(BrokerShard& here, Request& request) {
  auto& state = *static_cast<State*>(request.state);
  auto change = std::make_unique<AutoCreate>(here, request, state, answer);
  if (auto left = here.catalog_writer->submit(std::move(change))) request.hop(request.home(), answer);
}

bool wants_creation(const BrokerShard& here, const Request& request, const MetadataRequest& asked) {
  if (!here.config.auto_create_topics || !asked.allow_auto_topic_creation) return false;
  if (asks_for_all(asked, request.version())) return false;
  return std::ranges::any_of(*asked.topics, [&](const Asked& topic) {
    return topic.name && topic.topic_id.is_zero() && here.catalog->find(*topic.name) == nullptr &&
           check_topic_name(*topic.name).empty() &&
           authorize(request, Operation::kCreate, ResourceType::kTopic, *topic.name);
  });
}

// Names are nullable from 10 on, but may be left out only where topics can be asked for by id.
bool valid(const MetadataRequest& asked, int16_t version) {
  if (!asked.topics) return true;
  return std::ranges::all_of(*asked.topics, [&](const Asked& topic) {
    bool by_id = !topic.topic_id.is_zero();
    return by_id ? version >= kTopicIdsFrom : topic.name.has_value();
  });
}

void refuse_all(Request& request, const MetadataRequest& asked) {
  std::vector<Topic> topics;
  for (const Asked& topic : *asked.topics) {
    topics.push_back({.error_code = static_cast<int16_t>(ErrorCode::kInvalidRequest),
                      .name = topic.name.value_or(""),
                      .topic_id = topic.topic_id});
  }
  MetadataResponse response;
  response.topics = topics;
  response.error_code = static_cast<int16_t>(ErrorCode::kInvalidRequest);
  request.respond(response);
}

}  // namespace

void handle_metadata(BrokerShard& here, Request& request) {
  const MetadataRequest* asked = request.decode<MetadataRequest>();
  if (asked == nullptr) return;
  if (!valid(*asked, request.version())) return refuse_all(request, *asked);
  State& state = request.make_state<State>();
  state.asked = asked;
  request.state = &state;
  if (wants_creation(here, request, *asked)) return request.hop(kCatalogShard, create_missing);
  answer(here, request);
}

}  // namespace pelton::broker
