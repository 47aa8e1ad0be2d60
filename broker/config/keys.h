// The broker's configuration keys: every one of Apache Kafka 4.4 and this broker's own. One table, in parts
// (keys_*.cc), read by the loader, by DescribeConfigs and by changes at run time.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/config/broker_config.h"
#include "broker/config/config_key.h"

namespace pelton::broker {

// Whether and for whom a key can be changed while the broker runs.
enum class UpdateMode : uint8_t { kReadOnly, kPerBroker, kClusterWide };

struct BrokerKey : ConfigKey {
  UpdateMode mode = UpdateMode::kReadOnly;
  // nullptr: does nothing, or is read by the loader itself (what depends on several keys).
  void (*set)(BrokerConfig& config, const ConfigValue& value) = nullptr;
};

// Sorted by name.
std::span<const BrokerKey* const> broker_keys();
const BrokerKey* find_broker_key(std::string_view name);

// "listener.name.<listener>.<key>" without its prefix; any other name as it is.
std::string_view without_listener(std::string_view name);
// TLS keys, which Apache Kafka changes at run time for one listener only.
bool is_listener_security_key(std::string_view name);

// The known key that `name` is most probably a misspelling of; empty when there is none near.
std::string_view suggest_key(std::string_view name);
// The same among other names.
std::string_view suggest_key(std::string_view name, std::span<const std::string_view> known);

}  // namespace pelton::broker
