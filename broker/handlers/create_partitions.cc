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

struct State {
  const CreatePartitionsRequest* asked = nullptr;
  int64_t deadline_ms = 0;
};

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
  CreatePartitions(BrokerShard& here, Request& request, const State& state)
      : TopicsChange(here, request, state.asked->topics, state.deadline_ms) {}

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

void create(BrokerShard& here, Request& request) {
  const State& state = *static_cast<State*>(request.state);
  run_change(here, std::make_unique<CreatePartitions>(here, request, state), state.asked->validate_only);
}

}  // namespace

void handle_create_partitions(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<CreatePartitionsRequest>();
  if (asked == nullptr) return;
  State& state = request.make_state<State>();
  state.asked = asked;
  state.deadline_ms = here.shard.loop().wall_ms() + asked->timeout_ms;
  request.state = &state;
  request.hop(kCatalogShard, create);
}

}  // namespace pelton::broker
