// CreateTopics: planned and written on the catalog's shard; answered when every shard has the topics.

#include "proto/messages/create_topics.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_log.h"
#include "broker/catalog/topics_change.h"
#include "broker/config/describe.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::CreateTopicsRequest;
using proto::CreateTopicsResponse;
using proto::ErrorCode;
using Asked = CreateTopicsRequest::CreatableTopic;
using Result = CreateTopicsResponse::CreatableTopicResult;
using ConfigAnswer = CreateTopicsResponse::CreatableTopicConfigs;

NewTopic to_new_topic(const Asked& asked) {
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

class CreateTopics final : public TopicsChange<Asked> {
 public:
  CreateTopics(BrokerShard& here, Request& request, const CreateTopicsRequest& asked, int64_t deadline_ms)
      : TopicsChange(here, request, asked.topics, deadline_ms) {}

 private:
  TopicOutcome plan_one(const CatalogReplay& catalog, const Asked& topic, MetadataRecords& records) override {
    bool allowed =
        topic.name != kMetadataTopic &&
        (authorize(request_, Operation::kCreate, ResourceType::kCluster, kClusterResource) ||
         authorize(request_, Operation::kCreate, ResourceType::kTopic, topic.name));
    if (!allowed) {
      return refuse_topic(ErrorCode::kTopicAuthorizationFailed, "not allowed to create the topic");
    }
    return plan_create_topic(catalog, here_.config, replica_home(here_), to_new_topic(topic),
                             make_topic_id(here_.shard.io()), records);
  }

  void respond() override {
    std::vector<Result> results;
    for (const auto& [name, outcome] : outcomes()) results.push_back(to_result(name, outcome));
    CreateTopicsResponse response;
    response.topics = results;
    request_.respond(response);
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
    DescribedConfigs described = describe_created_topic(here_.config, outcome.config);
    auto answers = arena.array<ConfigAnswer>(described.size());
    for (size_t i = 0; i < described.size(); ++i) {
      answers[i].name = described[i].name;
      answers[i].value = std::nullopt;
      if (described[i].value) answers[i].value = arena.copy(*described[i].value);
      answers[i].read_only = described[i].read_only;
      answers[i].config_source = static_cast<int8_t>(described[i].source);
      answers[i].is_sensitive = described[i].sensitive;
    }
    return answers;
  }
};

}  // namespace

void handle_create_topics(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<CreateTopicsRequest>();
  if (asked == nullptr) return;
  start_change<CreateTopics>(here, request, *asked);
}

}  // namespace pelton::broker
