// DescribeConfigs: of topics, of this broker and of all, of groups, client metrics subscriptions and loggers.
// A request may name many resources, and the same one many times: they are described a part in a turn, out of
// the snapshot that was there at first.

#include "proto/messages/describe_configs.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "broker/broker_shard.h"
#include "broker/catalog/config_changes.h"
#include "broker/catalog/topic_changes.h"
#include "broker/config/describe.h"
#include "broker/config/loggers.h"
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
using enum ConfigResourceType;

// What one turn does, in the cost of describing one key (about a microsecond).
constexpr size_t kCostPerTurn = 2'000;
// Far more than there are.
constexpr size_t kMaxKeysAsked = 10'000;

// State of its request.
class Describing {
 public:
  Describing(BrokerShard& here, Request& request, const DescribeConfigsRequest& asked)
      : catalog_(here.catalog), config_(*catalog_->broker_config()), request_(request),
        arena_(request.arena()), asked_(asked), results_(arena_.array<Result>(asked.resources.size())) {
    request.state = this;
  }

  void start(BrokerShard& here) {
    // As in Apache Kafka, one such resource spoils the request.
    auto unknown = std::ranges::find_if_not(asked_.resources, has_configuration);
    if (unknown == asked_.resources.end()) return go_on(here);
    std::string_view why =
        arena_.copy(fmt::format("resources of type {} have no configuration", unknown->resource_type));
    for (size_t i = 0; i < results_.size(); ++i) {
      results_[i].resource_type = asked_.resources[i].resource_type;
      results_[i].resource_name = asked_.resources[i].resource_name;
      results_[i].error_code = proto::wire(ErrorCode::kInvalidRequest);
      results_[i].error_message = why;
    }
    respond();
  }

 private:
  static bool has_configuration(const Resource& resource) {
    switch (static_cast<ConfigResourceType>(resource.resource_type)) {
      case kTopic:
      case kGroup:
      case kBroker:
      case kBrokerLogger:
      case kClientMetrics: return true;
    }
    return false;
  }

  void go_on(BrokerShard& here) {
    for (cost_ = 0; at_ < results_.size(); ++at_) {
      if (cost_ >= kCostPerTurn) return request_.hop(here.shard.id(), &next_turn);
      describe(asked_.resources[at_], results_[at_]);
      ++cost_;
    }
    respond();
  }

  void respond() {
    DescribeConfigsResponse response;
    response.results = results_;
    request_.respond(response);
  }

  static void next_turn(BrokerShard& here, Request& request) {
    static_cast<Describing*>(request.state)->go_on(here);
  }

  void describe(const Resource& resource, Result& result) {
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    result.error_message = "";
    switch (static_cast<ConfigResourceType>(resource.resource_type)) {
      case kTopic: return describe_topic_resource(resource, result);
      case kGroup: return describe_group_resource(resource, result);
      default: break;
    }
    if (!authorize(request_, Operation::kDescribeConfigs, ResourceType::kCluster, kClusterResource)) {
      return fail(result, ErrorCode::kClusterAuthorizationFailed, "not allowed to describe configurations");
    }
    switch (static_cast<ConfigResourceType>(resource.resource_type)) {
      case kBroker: return describe_broker_resource(resource, result);
      case kBrokerLogger: return describe_logger_resource(resource, result);
      default: return describe_subscription(resource, result);
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
    const TopicInfo* topic = catalog_->find(name);
    if (topic == nullptr) {
      return fail(result, ErrorCode::kUnknownTopicOrPartition, fmt::format("there is no topic {}", name));
    }
    if (!may_describe(resource, result)) return;
    fill(describe_topic(config_, topic->config, wanted(resource)), result);
  }

  void describe_group_resource(const Resource& resource, Result& result) {
    std::string_view name = resource.resource_name;
    if (!authorize(request_, Operation::kDescribeConfigs, ResourceType::kGroup, name)) {
      return fail(result, ErrorCode::kGroupAuthorizationFailed, "not allowed to describe the group");
    }
    if (name.empty()) return fail(result, ErrorCode::kInvalidRequest, "the group has no name");
    if (!may_describe(resource, result)) return;
    fill(describe_group(config_, own_texts(kGroup, name), wanted(resource)), result);
  }

  void describe_subscription(const Resource& resource, Result& result) {
    std::string_view name = resource.resource_name;
    if (name.empty()) return fail(result, ErrorCode::kInvalidRequest, "the subscription has no name");
    if (!may_describe(resource, result)) return;
    fill(describe_client_metrics(own_texts(kClientMetrics, name), wanted(resource)), result);
  }

  void describe_broker_resource(const Resource& resource, Result& result) {
    std::string_view name = resource.resource_name;
    if (!is_this_broker(name, true, result)) return;
    if (!may_describe(resource, result)) return;
    WantedKeys keys = wanted(resource);
    fill(name.empty() ? describe_broker_defaults(config_, keys) : describe_broker(config_, keys), result);
  }

  void describe_logger_resource(const Resource& resource, Result& result) {
    if (!is_this_broker(resource.resource_name, false, result)) return;
    if (!may_describe(resource, result)) return;
    DescribedConfigs loggers = describe_loggers();
    std::erase_if(loggers, [keys = wanted(resource)](const auto& c) { return !keys.contains(c.name); });
    fill(loggers, result);
  }

  bool is_this_broker(std::string_view name, bool may_be_empty, Result& result) {
    ConfigFault named = check_broker_name(name, config_.node_id, may_be_empty);
    if (named.error != ErrorCode::kNone) fail(result, named.error, named.why);
    return named.error == ErrorCode::kNone;
  }

  const ConfigTexts& own_texts(ConfigResourceType type, std::string_view name) const {
    static const ConfigTexts kNone;
    const ResourceConfigs& configs = *catalog_->configs();
    auto found = configs.find({type, std::string(name)});
    return found == configs.end() ? kNone : found->second;
  }

  bool may_describe(const Resource& resource, Result& result) {
    if (full_) {
      refuse_full(result);
    } else if (resource.configuration_keys && resource.configuration_keys->size() > kMaxKeysAsked) {
      fail(result, ErrorCode::kInvalidRequest,
           fmt::format("more than {} keys of one resource are asked for", kMaxKeysAsked));
    } else {
      return true;
    }
    return false;
  }

  WantedKeys wanted(const Resource& resource) {
    const auto& keys = resource.configuration_keys;
    if (!keys || keys->empty()) return {};
    cost_ += keys->size();
    return WantedKeys(*keys);
  }

  // What the answer takes in the arena.
  static size_t answer_bytes(const DescribedConfigs& configs) {
    size_t bytes = configs.size() * sizeof(Entry);
    for (const DescribedConfig& config : configs) {
      if (config.value) bytes += config.value->size();
      for (const auto& synonym : config.synonyms) {
        bytes += sizeof(Synonym) + (synonym.value ? synonym.value->size() : 0);
      }
    }
    return bytes;
  }

  void fill(const DescribedConfigs& configs, Result& result) {
    cost_ += configs.size();
    full_ = !answer_has_room(arena_, answer_bytes(configs));
    if (full_) return refuse_full(result);
    auto entries = arena_.array<Entry>(configs.size());
    for (size_t i = 0; i < entries.size(); ++i) fill(configs[i], entries[i]);
    result.configs = entries;
  }

  std::optional<std::string_view> kept(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    return arena_.copy(*text);
  }

  void fill(const DescribedConfig& config, Entry& entry) {
    entry.name = config.name;
    entry.value = kept(config.value);
    entry.read_only = config.read_only;
    entry.is_sensitive = config.sensitive;
    entry.config_source = static_cast<int8_t>(config.source);
    entry.config_type = static_cast<int8_t>(config.type);
    entry.documentation = std::nullopt;
    if (asked_.include_documentation) entry.documentation = config.documentation;
    if (!asked_.include_synonyms) return;
    auto synonyms = arena_.array<Synonym>(config.synonyms.size());
    for (size_t i = 0; i < synonyms.size(); ++i) {
      synonyms[i].name = config.synonyms[i].name;
      synonyms[i].value = kept(config.synonyms[i].value);
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

  // Holds what the answer has views of, whatever changes between two turns.
  std::shared_ptr<const CatalogSnapshot> catalog_;
  const BrokerConfig& config_;
  Request& request_;
  proto::Arena& arena_;
  const DescribeConfigsRequest& asked_;
  std::span<Result> results_;
  size_t at_ = 0;
  size_t cost_ = 0;    // in this turn
  bool full_ = false;  // no room for another resource: none is looked at any more
};

}  // namespace

void handle_describe_configs(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<DescribeConfigsRequest>();
  if (asked == nullptr) return;
  request.make_state<Describing>(here, request, *asked).start(here);
}

}  // namespace pelton::broker
