#include "tests/sim/client/admin.h"

#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"

namespace pelton::sim {

using proto::ErrorCode;

namespace {

constexpr int16_t kCreateVersion = 7;
constexpr int16_t kMetadataVersion = 12;

}  // namespace

Admin::Admin(Context& context) : Client(context, "admin") {
  for (const TopicSpec& spec : model_.topics())
    topics_[spec.name] = {.partitions = spec.partitions, .synced = spec.synced};
}

void Admin::work() { next(); }

void Admin::next() {
  for (const auto& [name, topic] : topics_)
    if (!topic.answered) return create(name);
  uint64_t delay = context_.topic_ids.empty() ? 0 : world_.latency(300 * kMilli, 6 * kSecond);
  later(delay, [this] {
    if (!context_.producing) return;
    if (topics_.size() < kMostTopics && world_.chance(0.2)) {
      std::string name = fmt::format("extra-{}", topics_.size());
      topics_[name] = {.partitions = static_cast<int32_t>(world_.between(1, 3))};
      return create(name);
    }
    describe();
  });
}

void Admin::create(const std::string& name) {
  const Known& wanted = topics_[name];
  proto::CreateTopicsRequest::CreatableTopicConfig configs[2];
  configs[0].name = "flush.messages";
  configs[0].value = wanted.synced ? "1" : "9223372036854775807";
  // Some topics take what comes, some write every batch anew.
  static constexpr std::string_view kTypes[] = {"producer", "producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"};
  configs[1].name = "compression.type";
  configs[1].value = kTypes[world_.below(std::size(kTypes))];
  proto::CreateTopicsRequest::CreatableTopic topic;
  topic.name = name;
  topic.num_partitions = wanted.partitions;
  topic.replication_factor = 1;
  topic.configs = configs;
  proto::CreateTopicsRequest request;
  request.topics = {&topic, 1};
  link_.call(request, kCreateVersion, [this, name](proto::WireReader& in) {
    proto::CreateTopicsResponse response;
    if (!link_.decode(in, kCreateVersion, response)) return;
    if (response.topics.size() != 1) return bug("a CreateTopics answer of other topics");
    auto error = static_cast<ErrorCode>(response.topics[0].error_code);
    // It exists when the answer to an earlier attempt was lost.
    if (error == ErrorCode::kTopicAlreadyExists) return describe();
    if (error != ErrorCode::kNone) {
      if (!context_.disk_fails)
        bug(fmt::format("creating {}: error {}", name, response.topics[0].error_code));
      return restart();
    }
    topics_[name].answered = true;
    topics_[name].id = response.topics[0].topic_id;
    world_.trace("topic created");
    publish_ids();
    next();
  });
}

void Admin::describe() {
  proto::MetadataRequest request;
  request.topics.reset();
  request.allow_auto_topic_creation = false;
  link_.call(request, kMetadataVersion, [this, sure = topics_](proto::WireReader& in) {
    proto::MetadataResponse response;
    if (link_.decode(in, kMetadataVersion, response)) on_described(response, sure);
  });
}

void Admin::on_described(const proto::MetadataResponse& response,
                         const std::map<std::string, Known>& sure) {
  std::map<std::string, const proto::MetadataResponse::MetadataResponseTopic*> seen;
  for (const auto& topic : response.topics)
    if (topic.name) seen[std::string(*topic.name)] = &topic;
  for (const auto& [name, known] : sure) {
    auto found = seen.find(name);
    if (found == seen.end()) {
      if (known.answered) return bug("topic " + name + " is gone");
      continue;
    }
    const auto& topic = *found->second;
    if (topic.error_code != 0) return bug(fmt::format("topic {}: error {}", name, topic.error_code));
    if (known.answered && topic.topic_id != known.id) return bug("topic " + name + " has another id");
    if (static_cast<int32_t>(topic.partitions.size()) != known.partitions)
      return bug(fmt::format("topic {} has {} partitions, not {}", name, topic.partitions.size(),
                             known.partitions));
    topics_[name].answered = true;
    topics_[name].id = topic.topic_id;
  }
  publish_ids();
  next();
}

void Admin::publish_ids() {
  if (!context_.topic_ids.empty()) return;
  std::vector<Uuid> ids;
  for (const TopicSpec& spec : model_.topics()) {
    if (!topics_[spec.name].answered) return;
    ids.push_back(topics_[spec.name].id);
  }
  context_.topic_ids = std::move(ids);
}

}  // namespace pelton::sim
