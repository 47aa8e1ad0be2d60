// Group-level configuration: all of Apache Kafka 4.4's keys of consumer, share and streams groups. They are
// checked and stored; they act once such groups exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/config/broker_config.h"
#include "broker/config/config_key.h"
#include "broker/config/config_layers.h"

namespace pelton::broker {

struct GroupKey : ConfigKey {
  std::string_view broker_key;  // gives the default; empty: there is none
};

// Sorted by name.
std::span<const GroupKey> group_keys();
const GroupKey* find_group_key(std::string_view name);

// What a group sets itself, held against the broker's bounds. The error is one sentence: the first of an
// unknown key, a bad value, a value out of bounds.
Result<void, std::string> check_group_config(const BrokerConfig& broker, const ConfigTexts& config);

}  // namespace pelton::broker
