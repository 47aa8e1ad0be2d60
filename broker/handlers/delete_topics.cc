// DeleteTopics: by name, or by id from version 6 on.

#include "proto/messages/delete_topics.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/topic_changes.h"
#include "broker/catalog/writer.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DeleteTopicsRequest;
using proto::DeleteTopicsResponse;
using proto::ErrorCode;
using Asked = DeleteTopicsRequest::DeleteTopicState;
using Answer = DeleteTopicsResponse::DeletableTopicResult;

constexpr int16_t kTopicsFrom = 6;         // name or id for each topic; only names before
constexpr int16_t kDisabledErrorFrom = 3;  // TOPIC_DELETION_DISABLED

struct State {
  std::vector<Asked> topics;
  int64_t deadline_ms = 0;
};

class DeleteTopics final : public CatalogChange {
 public:
  DeleteTopics(BrokerShard& here, Request& request)
      : here_(here), request_(request), state_(*static_cast<State*>(request.state)) {}

  bool makes_nothing() const override { return true; }

  void plan(const CatalogReplay& catalog, MetadataRecords& records) override {
    if (here_.shard.loop().wall_ms() > state_.deadline_ms) {
      for (const Asked& topic : state_.topics) add(topic, ErrorCode::kRequestTimedOut, "");
      return;
    }
    std::map<std::pair<std::optional<std::string_view>, Uuid>, int> times;
    for (const Asked& topic : state_.topics) ++times[{topic.name, topic.topic_id}];
    std::set<Uuid> deleted;
    for (const Asked& topic : state_.topics) {
      int& count = times[{topic.name, topic.topic_id}];
      if (count == 1) {
        plan_one(catalog, topic, deleted, records);
      } else if (count > 1) {
        add(topic, ErrorCode::kInvalidRequest, "the topic is named more than once");
        count = 0;  // told once
      }
    }
  }

  void done(ErrorCode error) override {
    std::vector<Answer> answers;
    if (error != ErrorCode::kNone && outcomes_.empty()) {
      for (const Asked& topic : state_.topics) add(topic, error, "");
    }
    for (const Outcome& outcome : outcomes_) {
      ErrorCode code = outcome.error == ErrorCode::kNone ? error : outcome.error;
      Answer answer;
      answer.name = std::nullopt;
      if (outcome.has_name) answer.name = outcome.name;
      answer.topic_id = outcome.id;
      answer.error_code = static_cast<int16_t>(code);
      if (code != ErrorCode::kNone) {
        answer.error_message = outcome.message.empty() ? proto::name(code) : outcome.message;
      }
      answers.push_back(answer);
    }
    DeleteTopicsResponse response;
    response.responses = answers;
    request_.respond(response);
  }

 private:
  struct Outcome {
    std::string name;
    bool has_name = false;
    Uuid id;
    ErrorCode error = ErrorCode::kNone;
    std::string message;
  };

  void plan_one(const CatalogReplay& catalog, const Asked& asked, std::set<Uuid>& deleted,
                MetadataRecords& records) {
    bool by_id = !asked.topic_id.is_zero();
    if (by_id && asked.name) {
      return add(asked, ErrorCode::kInvalidRequest, "name and id are given; one is enough");
    }
    if (!by_id && !asked.name) return add(asked, ErrorCode::kInvalidRequest, "no name and no id");
    const TopicInfo* topic = by_id ? catalog.find(asked.topic_id) : catalog.find(*asked.name);
    if (topic == nullptr) {
      return add(asked, by_id ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition, "");
    }
    if (!authorize(request_, Operation::kDelete, ResourceType::kTopic, topic->name)) {
      return add(asked, ErrorCode::kTopicAuthorizationFailed, "");
    }
    if (deleted.contains(topic->id)) {
      return add(asked, ErrorCode::kInvalidRequest, "the topic is named more than once");
    }
    TopicOutcome outcome = plan_delete_topic(*topic, records);
    if (outcome.error == ErrorCode::kNone) deleted.insert(topic->id);
    outcomes_.push_back({topic->name, true, topic->id, outcome.error, outcome.message});
  }

  void add(const Asked& asked, ErrorCode error, std::string message) {
    outcomes_.push_back({std::string(asked.name.value_or("")), asked.name.has_value(), asked.topic_id,
                         error, std::move(message)});
  }

  BrokerShard& here_;
  Request& request_;
  State& state_;
  std::vector<Outcome> outcomes_;
};

void remove(BrokerShard& here, Request& request) {
  if (auto left = here.catalog_writer->submit(std::make_unique<DeleteTopics>(here, request))) {
    left->done(ErrorCode::kNotController);
  }
}

void refuse_all(Request& request, const State& state) {
  bool known = request.version() >= kDisabledErrorFrom;
  std::vector<Answer> answers;
  for (const Asked& topic : state.topics) {
    Answer answer;
    answer.name = topic.name;
    answer.topic_id = topic.topic_id;
    answer.error_code =
        static_cast<int16_t>(known ? ErrorCode::kTopicDeletionDisabled : ErrorCode::kInvalidRequest);
    answer.error_message = "topic deletion is disabled (delete.topic.enable)";
    answers.push_back(answer);
  }
  DeleteTopicsResponse response;
  response.responses = answers;
  request.respond(response);
}

}  // namespace

void handle_delete_topics(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<DeleteTopicsRequest>();
  if (asked == nullptr) return;
  State& state = request.make_state<State>();
  state.deadline_ms = here.shard.loop().wall_ms() + asked->timeout_ms;
  if (request.version() >= kTopicsFrom) {
    state.topics.assign(asked->topics.begin(), asked->topics.end());
  } else {
    for (std::string_view name : asked->topic_names) {
      state.topics.push_back({.name = name, .topic_id = {}});
    }
  }
  request.state = &state;
  if (!here.config.delete_topic_enable) return refuse_all(request, state);
  request.hop(kCatalogShard, remove);
}

}  // namespace pelton::broker
