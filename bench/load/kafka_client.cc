#include "bench/load/kafka_client.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "proto/api.h"
#include "proto/messages/api_versions.h"
#include "proto/messages/create_topics.h"
#include "proto/messages/delete_topics.h"
#include "proto/messages/metadata.h"

namespace pelton::bench {
namespace {

constexpr size_t kCorrelationAt = proto::kFrameSizeBytes + 4;
constexpr int16_t kPlainApiVersions = 0;
constexpr int16_t kTopicsByIdFrom = 6;  // DeleteTopics
constexpr int64_t kLeaderLimitNs = 10'000'000'000;

bool has_leaders(const proto::MetadataResponse::MetadataResponseTopic& topic) {
  if (topic.error_code != 0 || topic.partitions.empty()) return false;
  return std::ranges::all_of(topic.partitions, [](const auto& partition) {
    return partition.error_code == 0 && partition.leader_id.value >= 0;
  });
}

}  // namespace

KafkaClient::KafkaClient(uint16_t port) : socket_(connect_loopback(port)) { ask_versions(); }

void KafkaClient::bad_answer(int16_t key, std::string_view why) {
  errno = 0;
  const proto::ApiInfo* api = proto::find_api(key);
  fail(fmt::format("{}: {}", api == nullptr ? "?" : api->name, why));
}

int16_t KafkaClient::version_of(int16_t key, int16_t lowest, int16_t highest) const {
  auto found = versions_.find(key);
  if (found == versions_.end()) bad_answer(key, "not among the broker's APIs");
  int16_t version = std::min(highest, found->second.highest);
  if (version < std::max(lowest, found->second.lowest)) bad_answer(key, "no common version");
  return version;
}

void KafkaClient::send_frame(MutableBytes frame) {
  store_be<int32_t>(frame.data() + kCorrelationAt, next_correlation_++);
  send_all(socket_, frame);
}

proto::WireReader KafkaClient::receive_frame(int16_t key, int16_t version) {
  std::array<uint8_t, proto::kFrameSizeBytes> prefix;
  if (!receive_exact(socket_, prefix)) bad_answer(key, "the broker closed the connection");
  uint32_t size = load_be<uint32_t>(prefix.data());
  if (size < proto::kMinResponseBytes || size > kMaxFrame) bad_answer(key, "bad frame size");
  buffer_.resize(size);
  if (!receive_exact(socket_, buffer_)) bad_answer(key, "the broker closed the connection");
  arena_.reset(proto::Arena::limit_for(size));
  proto::WireReader in(buffer_, arena_);
  int32_t correlation = proto::read_response_header(in, key, version);
  if (correlation != next_answered_++) bad_answer(key, "answers out of order");
  return in;
}

void KafkaClient::ask_versions() {
  constexpr int16_t key = static_cast<int16_t>(proto::ApiKey::kApiVersions);
  std::vector<uint8_t> frame = encode(proto::ApiVersionsRequest{}, kPlainApiVersions);
  send_frame(frame);
  proto::WireReader in = receive_frame(key, kPlainApiVersions);
  proto::ApiVersionsResponse response;
  response.decode(in, kPlainApiVersions);
  if (!in.ok() || response.error_code != 0) bad_answer(key, "refused");
  for (const auto& api : response.api_keys)
    versions_[api.api_key] = {api.min_version, api.max_version};
}

Topic KafkaClient::create_topic(const std::string& name, int32_t partitions,
                                const std::vector<std::string>& configs) {
  using Request = proto::CreateTopicsRequest;
  std::vector<Request::CreatableTopicConfig> entries(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    std::string_view config = configs[i];
    size_t equals = config.find('=');
    errno = 0;
    if (equals == config.npos) fail(fmt::format("config '{}': key=value wanted", config));
    entries[i].name = config.substr(0, equals);
    entries[i].value = config.substr(equals + 1);
  }
  Request::CreatableTopic topic;
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  topic.configs = entries;
  Request request;
  request.topics = {&topic, 1};
  auto response = call<proto::CreateTopicsResponse>(request);
  errno = 0;
  if (response.topics.size() != 1 || response.topics[0].error_code != 0)
    fail(fmt::format("create topic {}: error {}", name,
                     response.topics.empty() ? -1 : response.topics[0].error_code));
  return find_topic(name);
}

Topic KafkaClient::find_topic(const std::string& name) {
  proto::MetadataRequest::MetadataRequestTopic wanted;
  wanted.name = name;
  proto::MetadataRequest request;
  request.topics = std::span(&wanted, 1);
  request.allow_auto_topic_creation = false;
  for (int64_t until = monotonic_ns() + kLeaderLimitNs; monotonic_ns() < until; ::usleep(5000)) {
    auto response = call<proto::MetadataResponse>(request);
    if (response.topics.size() == 1 && has_leaders(response.topics[0]))
      return {name, response.topics[0].topic_id};
  }
  errno = 0;
  fail(fmt::format("topic {} has no leaders", name));
}

void KafkaClient::delete_topic(const Topic& topic) {
  proto::DeleteTopicsRequest request;
  request.timeout_ms = 30000;
  proto::DeleteTopicsRequest::DeleteTopicState by_state;
  by_state.name = topic.name;
  std::string_view by_name = topic.name;
  if (version<proto::DeleteTopicsRequest>() >= kTopicsByIdFrom)
    request.topics = {&by_state, 1};
  else
    request.topic_names = {&by_name, 1};
  auto response = call<proto::DeleteTopicsResponse>(request);
  errno = 0;
  if (response.responses.size() != 1 || response.responses[0].error_code != 0)
    fail(fmt::format("delete topic {}: refused", topic.name));
}

}  // namespace pelton::bench
