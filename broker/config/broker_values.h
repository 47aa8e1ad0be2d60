// Values of the broker's keys, parsed: setting a BrokerConfig from them, and the rules between keys.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"
#include "broker/config/config_value.h"

namespace pelton::broker {

// By key; the names are those of the table.
using BrokerValues = std::map<std::string_view, ConfigValue>;

// Sets what the values say. Of several spellings of one setting the strongest counts.
void set_values(const BrokerValues& values, BrokerConfig& config);

// Sets what the layers say for single listeners; after set_values, and when the listeners are known.
void set_listener_limits(BrokerConfig& config);

struct KeyProblem {
  std::string_view key;  // to blame: one that has a value
  std::string why;       // names key and value
};
// The rules between keys, and those that a key's own rule cannot say. A key without a value has its default.
std::vector<KeyProblem> check_between_keys(const BrokerValues& values);

}  // namespace pelton::broker
