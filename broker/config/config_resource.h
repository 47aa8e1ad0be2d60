// Kinds of resources that have configuration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "broker/config/config_layers.h"

namespace pelton::broker {

// Kafka's codes, as requests and ConfigRecord carry them.
enum class ConfigResourceType : int8_t {
  kTopic = 2,
  kBroker = 4,
  kBrokerLogger = 8,
  kClientMetrics = 16,
  kGroup = 32,
};

// What IncrementalAlterConfigs does with one key: Kafka's codes.
enum class AlterOperation : int8_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

// What resources set themselves, by type and name; resources that set nothing are not there.
using ConfigResource = std::pair<ConfigResourceType, std::string>;
using ResourceConfigs = std::map<ConfigResource, ConfigTexts>;

}  // namespace pelton::broker
