// DescribeConfigs: of topics and of this broker.

#include "proto/messages/describe_configs.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "broker/broker_shard.h"
#include "broker/catalog/topic_changes.h"
#include "broker/config/describe.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DescribeConfigsRequest;
using proto::DescribeConfigsResponse;
using proto::ErrorCode;
using Resource = DescribeConfigsRequest::DescribeConfigsResource;
using Entry = DescribeConfigsResponse::DescribeConfigsResourceResult;
using Synonym = DescribeConfigsResponse::DescribeConfigsSynonym;
using Result = DescribeConfigsResponse::DescribeConfigsResult;

constexpr int8_t kTopicResource = 2;
constexpr int8_t kBrokerResource = 4;

class Answer {
 public:
  Answer(BrokerShard& here, Request& request, const DescribeConfigsRequest& asked)
      : here_(here), request_(request), arena_(request.arena()), asked_(asked) {}

  void respond() {
    auto results = arena_.array<Result>(asked_.resources.size());
    for (size_t i = 0; i < results.size(); ++i) describe(asked_.resources[i], results[i]);
    DescribeConfigsResponse response;
    response.results = results;
    request_.respond(response);
  }

 private:
  void describe(const Resource& resource, Result& result) {
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    switch (resource.resource_type) {
      case kTopicResource: return describe_topic_resource(resource, result);
      case kBrokerResource: return describe_broker_resource(resource, result);
      default:
        fail(result, ErrorCode::kInvalidRequest,
             fmt::format("resources of type {} have no configuration here", resource.resource_type));
    }
  }

  void describe_topic_resource(const Resource& resource, Result& result) {
    std::string_view name = resource.resource_name;
    if (!authorize(request_, Operation::kDescribeConfigs, ResourceType::kTopic, name)) {
      return fail(result, ErrorCode::kTopicAuthorizationFailed, "not allowed to describe the topic");
    }
    if (std::string wrong = check_topic_name(name); !wrong.empty()) {
      return fail(result, ErrorCode::kInvalidTopicException, wrong);
    }
    const TopicInfo* topic = here_.catalog->find(name);
    if (topic == nullptr) {
      return fail(result, ErrorCode::kUnknownTopicOrPartition, fmt::format("there is no topic {}", name));
    }
    if (full_) return refuse_full(result);
    fill(resource, describe_topic(here_.config, topic->config), result);
  }

  void describe_broker_resource(const Resource& resource, Result& result) {
    std::string_view name = resource.resource_name;
    if (!authorize(request_, Operation::kDescribeConfigs, ResourceType::kCluster, kClusterResource)) {
      return fail(result, ErrorCode::kClusterAuthorizationFailed, "not allowed to describe the broker");
    }
    if (name.empty()) return;  // dynamic defaults of all brokers: there are none
    int32_t id = -1;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    bool whole = error == std::errc() && end == name.data() + name.size();
    if (!whole || id != here_.config.node_id) {
      return fail(result, ErrorCode::kInvalidRequest,
                  fmt::format("{} is not this broker's id, {}", name, here_.config.node_id));
    }
    if (full_) return refuse_full(result);
    fill(resource, describe_broker(here_.config), result);
  }

  static bool wanted(const Resource& resource, std::string_view key) {
    const auto& keys = resource.configuration_keys;
    return !keys || keys->empty() || std::ranges::count(*keys, key) > 0;
  }

  // What the answer takes in the arena.
  static size_t answer_bytes(const std::vector<DescribedConfig>& configs) {
    size_t bytes = configs.size() * sizeof(Entry);
    for (const DescribedConfig& config : configs) {
      if (config.value) bytes += config.value->size();
      for (const auto& synonym : config.synonyms) bytes += sizeof(Synonym) + synonym.value.size();
    }
    return bytes;
  }

  void fill(const Resource& resource, std::vector<DescribedConfig> configs, Result& result) {
    std::erase_if(configs, [&](const DescribedConfig& c) { return !wanted(resource, c.name); });
    full_ = !answer_has_room(arena_, answer_bytes(configs));
    if (full_) return refuse_full(result);
    auto entries = arena_.array<Entry>(configs.size());
    for (size_t i = 0; i < entries.size(); ++i) fill(configs[i], entries[i]);
    result.configs = entries;
  }

  void fill(const DescribedConfig& config, Entry& entry) {
    entry.name = config.name;
    entry.value = std::nullopt;
    if (config.value) entry.value = arena_.copy(*config.value);
    entry.read_only = config.read_only;
    entry.config_source = static_cast<int8_t>(config.source);
    entry.config_type = static_cast<int8_t>(config.type);
    entry.documentation = std::nullopt;
    if (asked_.include_documentation) entry.documentation = config.documentation;
    if (!asked_.include_synonyms) return;
    auto synonyms = arena_.array<Synonym>(config.synonyms.size());
    for (size_t i = 0; i < synonyms.size(); ++i) {
      synonyms[i].name = config.synonyms[i].name;
      synonyms[i].value = arena_.copy(config.synonyms[i].value);
      synonyms[i].source = static_cast<int8_t>(config.synonyms[i].source);
    }
    entry.synonyms = synonyms;
  }

  void fail(Result& result, ErrorCode error, std::string_view message) {
    result.error_code = static_cast<int16_t>(error);
    result.error_message = arena_.copy(message);
  }

  void refuse_full(Result& result) {
    result.error_code = static_cast<int16_t>(ErrorCode::kInvalidRequest);
    result.error_message = "the answer would be too large";
  }

  bool full_ = false;  // no room for another resource: none is looked at any more
  BrokerShard& here_;
  Request& request_;
  proto::Arena& arena_;
  const DescribeConfigsRequest& asked_;
};

}  // namespace

void handle_describe_configs(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<DescribeConfigsRequest>();
  if (asked == nullptr) return;
  Answer(here, request, *asked).respond();
}

}  // namespace pelton::broker
