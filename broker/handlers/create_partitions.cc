// CreatePartitions: more partitions for topics that exist.

#include "proto/messages/create_partitions.h"

#include <memory>
#include <optional>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/topics_change.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::CreatePartitionsRequest;
using proto::CreatePartitionsResponse;
using proto::ErrorCode;
using Asked = CreatePartitionsRequest::CreatePartitionsTopic;
using Answer = CreatePartitionsResponse::CreatePartitionsTopicResult;

std::optional<std::vector<std::vector<int32_t>>> assignments_of(const Asked& asked) {
  if (!asked.assignments) return std::nullopt;
  std::vector<std::vector<int32_t>> assignments;
  for (const auto& assignment : *asked.assignments) {
    std::vector<int32_t>& brokers = assignments.emplace_back();
    for (proto::BrokerId broker : assignment.broker_ids) brokers.push_back(broker.value);
  }
  return assignments;
}

class CreatePartitions final : public TopicsChange<Asked> {
 public:
  CreatePartitions(BrokerShard& here, Request& request, const CreatePartitionsRequest& asked, int64_t deadline_ms)
      : TopicsChange(here, request, asked.topics, deadline_ms) {}

 private:
  TopicOutcome plan_one(const CatalogReplay& catalog, const Asked& asked, MetadataRecords& records) override {
    if (!authorize(request_, Operation::kAlter, ResourceType::kTopic, asked.name)) {
      return refuse_topic(ErrorCode::kTopicAuthorizationFailed, "not allowed to alter the topic");
    }
    return plan_create_partitions(catalog, replica_home(here_), asked.name, asked.count,
                                  assignments_of(asked), records);
  }

  void respond() override {
    std::vector<Answer> answers;
    for (const auto& [name, outcome] : outcomes()) {
      Answer answer{.name = name, .error_code = static_cast<int16_t>(outcome.error)};
      if (outcome.error != ErrorCode::kNone) answer.error_message = outcome.message;
      answers.push_back(answer);
    }
    CreatePartitionsResponse response;
    response.results = answers;
    request_.respond(response);
  }
};

}  // namespace

void handle_create_partitions(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<CreatePartitionsRequest>();
  if (asked == nullptr) return;
  start_change<CreatePartitions>(here, request, *asked);
}

}  // namespace pelton::broker
