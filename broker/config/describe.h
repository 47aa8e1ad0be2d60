// What DescribeConfigs and CreateTopics tell of configuration: values, where they come from, synonyms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"
#include "broker/config/config_value.h"
#include "broker/config/topic_keys.h"
#include "storage/log_config.h"

namespace pelton::broker {

// Kafka's codes of config sources.
enum class ConfigSource : int8_t {
  kDynamicTopic = 1,
  kDynamicBroker = 2,
  kDynamicDefaultBroker = 3,
  kStaticBroker = 4,
  kDefault = 5,
};

struct ConfigSynonym {
  std::string_view name;
  std::string value;
  ConfigSource source;
};

struct DescribedConfig {
  std::string_view name;
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::kDefault;
  ConfigType type = ConfigType::kString;
  bool read_only = false;
  std::vector<ConfigSynonym> synonyms;  // strongest first
  std::string_view documentation;
};

// Keys that act, and keys the topic sets itself though they do not act.
std::vector<DescribedConfig> describe_topic(const BrokerConfig& broker,
                                            const TopicOverrides& overrides);

// Keys that act.
std::vector<DescribedConfig> describe_broker(const BrokerConfig& broker);

}  // namespace pelton::broker
