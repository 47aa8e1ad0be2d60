// CreatePartitions: more partitions for topics that exist.

#include "proto/messages/create_partitions.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/topic_changes.h"
#include "broker/catalog/writer.h"
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

class CreatePartitions final : public CatalogChange {
 public:
  CreatePartitions(BrokerShard& here, Request& request)
      : here_(here), request_(request), state_(*static_cast<State*>(request.state)) {}

  void plan(const CatalogReplay& catalog, MetadataRecords& records) override {
    if (here_.shard.loop().wall_ms() > state_.deadline_ms) return fail_all(ErrorCode::kRequestTimedOut);
    std::set<std::string_view> seen, twice;
    for (const Asked& topic : state_.asked->topics) {
      if (!seen.insert(topic.name).second) twice.insert(topic.name);
    }
    int64_t added = 0;
    for (const Asked& topic : state_.asked->topics) {
      if (outcomes_.contains(topic.name)) continue;
      TopicOutcome& outcome = outcomes_[topic.name];
      if (twice.contains(topic.name)) {
        outcome = {.error = ErrorCode::kInvalidRequest, .message = "the topic is named twice",
                   .id = {}, .config = {}};
        continue;
      }
      outcome = plan_one(catalog, topic, records);
      if (outcome.error == ErrorCode::kNone) {
        added += outcome.partitions - static_cast<int64_t>(catalog.find(topic.name)->partitions.size());
      }
    }
    if (added <= kMaxPartitionsPerRequest) return;
    records.clear();
    fail_all(ErrorCode::kPolicyViolation);
  }

  void done(ErrorCode error) override {
    if (error != ErrorCode::kNone) fail_all(error);
    respond();
  }

  void respond() {
    std::vector<Answer> answers;
    for (const auto& [name, outcome] : outcomes_) {
      Answer answer{.name = name, .error_code = static_cast<int16_t>(outcome.error)};
      if (outcome.error != ErrorCode::kNone) answer.error_message = outcome.message;
      answers.push_back(answer);
    }
    CreatePartitionsResponse response;
    response.results = answers;
    request_.respond(response);
  }

 private:
  TopicOutcome plan_one(const CatalogReplay& catalog, const Asked& asked, MetadataRecords& records) {
    if (!authorize(request_, Operation::kAlter, ResourceType::kTopic, asked.name)) {
      return {.error = ErrorCode::kTopicAuthorizationFailed, .message = "not allowed to alter the topic",
              .id = {}, .config = {}};
    }
    return plan_create_partitions(catalog, replica_home(here_), asked.name, asked.count,
                                  assignments_of(asked), records);
  }

  void fail_all(ErrorCode error) {
    for (const Asked& topic : state_.asked->topics) {
      TopicOutcome& outcome = outcomes_[topic.name];
      if (outcome.error != ErrorCode::kNone) continue;
      outcome = {.error = error, .message = std::string(proto::name(error)), .id = {}, .config = {}};
    }
  }

  BrokerShard& here_;
  Request& request_;
  State& state_;
  std::map<std::string_view, TopicOutcome> outcomes_;
};

void create(BrokerShard& here, Request& request) {
  auto change = std::make_unique<CreatePartitions>(here, request);
  if (static_cast<State*>(request.state)->asked->validate_only) {
    MetadataRecords unused;
    change->plan(here.catalog_writer->state(), unused);
    return change->respond();
  }
  if (auto left = here.catalog_writer->submit(std::move(change))) left->done(ErrorCode::kNotController);
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
