// The broker's configuration keys that act here: one table, read by the loader and by DescribeConfigs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/config/broker_config.h"
#include "broker/config/config_value.h"

namespace pelton::broker {

struct BrokerKey {
  std::string_view name;
  ValueRule rule;
  std::string_view default_value;
  std::string_view documentation;
  // nullptr: read by the loader itself (listeners and directories, which depend on several keys).
  void (*set)(BrokerConfig& config, const ConfigValue& value) = nullptr;
  // Kafka's default is "null" (nothing is said).
  bool null_default = false;
};

// Keys that are different spellings of one setting stand next to each other, the weaker first: the
// loader sets them in the table's order.
std::span<const BrokerKey> broker_keys();
const BrokerKey* find_broker_key(std::string_view name);

// Why a key of Apache Kafka does nothing here.
enum class IdleGroup { kQuorum, kThreads, kReplication, kSecurity, kRemote, kOther };
struct IdleKey {
  std::string_view name;
  IdleGroup group;
};
// Sorted by name. They are accepted, and named in one notice a group.
std::span<const IdleKey> idle_keys();
const IdleKey* find_idle_key(std::string_view name);

// The known key that `name` is most probably a misspelling of; empty when there is none near.
std::string_view suggest_key(std::string_view name);

}  // namespace pelton::broker
