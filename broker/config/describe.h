// What DescribeConfigs and CreateTopics tell of configuration: values, where they come from, synonyms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"
#include "broker/config/config_value.h"
#include "broker/config/topic_keys.h"

namespace pelton::broker {

// Kafka's codes of config sources.
enum class ConfigSource : int8_t {
  kTopic = 1,
  kDynamicBroker = 2,
  kDynamicDefaultBroker = 3,
  kStaticBroker = 4,
  kDefault = 5,
  kBrokerLogger = 6,
  kClientMetrics = 7,
  kGroup = 8,
};

// Views live as long as the configuration that was described.
struct ConfigSynonym {
  std::string_view name;
  std::optional<std::string> value;  // nullopt: sensitive
  ConfigSource source;
};

struct DescribedConfig {
  std::string_view name;
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::kDefault;
  ConfigType type = ConfigType::kUnknown;
  bool read_only = false;
  bool sensitive = false;
  std::vector<ConfigSynonym> synonyms;  // strongest first
  std::optional<std::string_view> documentation;
};
using DescribedConfigs = std::vector<DescribedConfig>;

// The keys that somebody asks for: all, or some. Made before anything is described, so that little is paid
// for little.
class WantedKeys {
 public:
  WantedKeys() = default;  // all
  explicit WantedKeys(std::span<const std::string_view> names);

  bool all() const { return all_; }
  bool contains(std::string_view name) const;
  // Those of some: sorted, each once.
  std::span<const std::string_view> names() const { return names_; }

 private:
  bool all_ = true;
  std::vector<std::string_view> names_;
};

// A configuration that ends before what tells of it is refused.
DescribedConfigs describe_topic(BrokerConfig&&, const TopicOverrides&, const WantedKeys& = {}) = delete;
DescribedConfigs describe_created_topic(BrokerConfig&&, const TopicOverrides&) = delete;
DescribedConfigs describe_broker(BrokerConfig&&, const WantedKeys& = {}) = delete;
DescribedConfigs describe_broker_defaults(BrokerConfig&&, const WantedKeys& = {}) = delete;
DescribedConfigs describe_group(BrokerConfig&&, const ConfigTexts&, const WantedKeys& = {}) = delete;

DescribedConfigs describe_topic(const BrokerConfig& broker, const TopicOverrides& overrides,
                                const WantedKeys& wanted = {});
// As the answer of CreateTopics tells it: texts as given, no synonyms.
DescribedConfigs describe_created_topic(const BrokerConfig& broker, const TopicOverrides& overrides);
DescribedConfigs describe_broker(const BrokerConfig& broker, const WantedKeys& wanted = {});
// The dynamic values of all brokers.
DescribedConfigs describe_broker_defaults(const BrokerConfig& broker, const WantedKeys& wanted = {});
DescribedConfigs describe_group(const BrokerConfig& broker, const ConfigTexts& overrides,
                                const WantedKeys& wanted = {});
DescribedConfigs describe_client_metrics(const ConfigTexts& overrides, const WantedKeys& wanted = {});

}  // namespace pelton::broker
