// CreateTopics: planned and written on the catalog's shard; answered when every shard has the topics.

#include "proto/messages/create_topics.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_log.h"
#include "broker/catalog/topic_changes.h"
#include "broker/catalog/writer.h"
#include "broker/config/describe.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::CreateTopicsRequest;
using proto::CreateTopicsResponse;
using proto::ErrorCode;
using Result = CreateTopicsResponse::CreatableTopicResult;
using ConfigAnswer = CreateTopicsResponse::CreatableTopicConfigs;

struct State {
  const CreateTopicsRequest* asked = nullptr;
  int64_t deadline_ms = 0;
};

NewTopic to_new_topic(const CreateTopicsRequest::CreatableTopic& asked) {
  NewTopic topic;
  topic.name = asked.name;
  topic.partitions = asked.num_partitions;
  topic.replication_factor = asked.replication_factor;
  for (const auto& assignment : asked.assignments) {
    ManualAssignment manual{.partition = assignment.partition_index, .brokers = {}};
    for (proto::BrokerId broker : assignment.broker_ids) manual.brokers.push_back(broker.value);
    topic.assignments.push_back(std::move(manual));
  }
  for (const auto& config : asked.configs) {
    std::optional<std::string> value;
    if (config.value) value = *config.value;
    topic.configs.emplace_back(config.name, std::move(value));
  }
  return topic;
}

class CreateTopics final : public CatalogChange {
 public:
  CreateTopics(BrokerShard& here, Request& request)
      : here_(here), request_(request), state_(*static_cast<State*>(request.state)) {}

  void plan(const CatalogReplay& catalog, MetadataRecords& records) override {
    if (here_.shard.loop().wall_ms() > state_.deadline_ms) return fail_all(ErrorCode::kRequestTimedOut);
    // Each would add a partition; and each is compared with the topics there are.
    if (state_.asked->topics.size() > static_cast<size_t>(kMaxPartitionsPerRequest))
      return fail_all(ErrorCode::kPolicyViolation);
    std::set<std::string_view> seen, twice;
    for (const auto& topic : state_.asked->topics) {
      if (!seen.insert(topic.name).second) twice.insert(topic.name);
    }
    int64_t partitions = 0;
    for (const auto& topic : state_.asked->topics) {
      if (outcomes_.contains(topic.name)) continue;
      TopicOutcome& outcome = outcomes_[topic.name];
      if (twice.contains(topic.name)) {
        outcome = {.error = ErrorCode::kInvalidRequest, .message = "the topic is named twice",
                   .id = {}, .config = {}};
        continue;
      }
      outcome = plan_one(catalog, topic, records);
      if (outcome.error == ErrorCode::kNone) partitions += outcome.partitions;
    }
    if (partitions <= kMaxPartitionsPerRequest) return;
    records.clear();
    fail_all(ErrorCode::kPolicyViolation);
  }

  void done(ErrorCode error) override {
    if (error != ErrorCode::kNone) fail_all(error);
    respond();
  }

  void fail_all(ErrorCode error) {
    for (const auto& topic : state_.asked->topics) {
      TopicOutcome& outcome = outcomes_[topic.name];
      if (outcome.error != ErrorCode::kNone) continue;
      outcome = {.error = error, .message = std::string(proto::name(error)), .id = {}, .config = {}};
    }
  }

  void respond() {
    std::vector<Result> results;
    for (const auto& [name, outcome] : outcomes_) results.push_back(to_result(name, outcome));
    CreateTopicsResponse response;
    response.topics = results;
    request_.respond(response);
  }

 private:
  TopicOutcome plan_one(const CatalogReplay& catalog,
                        const CreateTopicsRequest::CreatableTopic& topic, MetadataRecords& records) {
    bool allowed =
        topic.name != kMetadataTopic &&
        (authorize(request_, Operation::kCreate, ResourceType::kCluster, kClusterResource) ||
         authorize(request_, Operation::kCreate, ResourceType::kTopic, topic.name));
    if (!allowed) {
      return {.error = ErrorCode::kTopicAuthorizationFailed, .message = "not allowed to create the topic",
              .id = {}, .config = {}};
    }
    return plan_create_topic(catalog, here_.config, replica_home(here_), to_new_topic(topic),
                             make_topic_id(here_.shard.io()), records);
  }

  Result to_result(std::string_view name, const TopicOutcome& outcome) {
    Result result;
    result.name = name;
    result.error_code = static_cast<int16_t>(outcome.error);
    result.error_message = std::nullopt;
    if (outcome.error != ErrorCode::kNone) {
      result.error_message = outcome.message;
      return result;
    }
    result.topic_id = outcome.id;
    result.num_partitions = outcome.partitions;
    result.replication_factor = outcome.replication_factor;
    if (authorize(request_, Operation::kDescribeConfigs, ResourceType::kTopic, name)) {
      result.configs = describe(outcome);
    } else {
      result.configs = std::nullopt;
      result.topic_config_error_code = static_cast<int16_t>(ErrorCode::kTopicAuthorizationFailed);
    }
    return result;
  }

  std::span<ConfigAnswer> describe(const TopicOutcome& outcome) {
    proto::Arena& arena = request_.arena();
    std::vector<DescribedConfig> described = describe_topic(here_.config, outcome.config);
    auto answers = arena.array<ConfigAnswer>(described.size());
    for (size_t i = 0; i < described.size(); ++i) {
      answers[i].name = described[i].name;
      answers[i].value = std::nullopt;
      if (described[i].value) answers[i].value = arena.copy(*described[i].value);
      answers[i].read_only = described[i].read_only;
      answers[i].config_source = static_cast<int8_t>(described[i].source);
    }
    return answers;
  }

  BrokerShard& here_;
  Request& request_;
  State& state_;
  std::map<std::string_view, TopicOutcome> outcomes_;
};

void create(BrokerShard& here, Request& request) {
  auto change = std::make_unique<CreateTopics>(here, request);
  if (static_cast<State*>(request.state)->asked->validate_only) {
    MetadataRecords unused;
    change->plan(here.catalog_writer->state(), unused);
    return change->respond();
  }
  if (auto left = here.catalog_writer->submit(std::move(change))) left->done(ErrorCode::kNotController);
}

}  // namespace

void handle_create_topics(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<CreateTopicsRequest>();
  if (asked == nullptr) return;
  State& state = request.make_state<State>();
  state.asked = asked;
  state.deadline_ms = here.shard.loop().wall_ms() + asked->timeout_ms;
  request.state = &state;
  request.hop(kCatalogShard, create);
}

}  // namespace pelton::broker
