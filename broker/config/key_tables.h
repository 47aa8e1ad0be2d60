// The parts of the table of broker keys, and the words in which they are written. Only keys.cc and the parts
// include this.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "broker/config/keys.h"

namespace pelton::broker {

std::span<const BrokerKey> group_key_table();
std::span<const BrokerKey> log_key_table();
std::span<const BrokerKey> network_key_table();
std::span<const BrokerKey> new_group_key_table();
std::span<const BrokerKey> pelton_key_table();
std::span<const BrokerKey> quorum_key_table();
std::span<const BrokerKey> remote_key_table();
std::span<const BrokerKey> replication_key_table();
std::span<const BrokerKey> security_key_table();
std::span<const BrokerKey> server_key_table();
std::span<const BrokerKey> transaction_key_table();

namespace key_words {

using enum UpdateMode;
using Default = std::optional<std::string_view>;
using Set = void (*)(BrokerConfig& config, const ConfigValue& value);

constexpr BrokerKey acts(std::string_view name, ValueRule rule, Default default_value,
                         Importance importance, UpdateMode mode, std::string_view documentation,
                         Set set = nullptr) {
  return {{name, rule, default_value, importance, KeyUse::kActs, false, documentation}, mode, set};
}
constexpr BrokerKey idle(KeyUse use, std::string_view name, ValueRule rule, Default default_value,
                         Importance importance, UpdateMode mode) {
  return {{name, rule, default_value, importance, use, false, {}}, mode, nullptr};
}
constexpr BrokerKey internal(BrokerKey key) {
  key.internal = true;
  return key;
}

// --- setters ---
// The member, clamped to what it holds (some of Kafka's LONG keys are 32 bits here).
template <auto Member>
void number(BrokerConfig& config, const ConfigValue& value) {
  using Number = std::remove_reference_t<decltype(config.*Member)>;
  config.*Member = static_cast<Number>(
      std::clamp<int64_t>(value.number, std::numeric_limits<Number>::min(),
                          static_cast<int64_t>(std::numeric_limits<Number>::max())));
}
template <auto Member>
void log_number(BrokerConfig& config, const ConfigValue& value) {
  using Number = std::remove_reference_t<decltype(config.log_defaults.*Member)>;
  config.log_defaults.*Member = static_cast<Number>(value.number);
}
template <auto Member>
void limit(BrokerConfig& config, const ConfigValue& value) {
  config.connection_limits.*Member = static_cast<int32_t>(value.number);
}
template <auto Part, auto Member>
void limit(BrokerConfig& config, const ConfigValue& value) {
  config.connection_limits.*Part.*Member = static_cast<int32_t>(value.number);
}
template <auto Member>
void flag(BrokerConfig& config, const ConfigValue& value) {
  config.*Member = value.flag;
}
template <auto Member>
void text(BrokerConfig& config, const ConfigValue& value) {
  config.*Member = value.text;
}
// A time in larger units; -1 (no limit) stays.
template <auto Member, int64_t Milliseconds>
void log_time(BrokerConfig& config, const ConfigValue& value) {
  config.log_defaults.*Member = value.number < 0 ? -1 : value.number * Milliseconds;
}

using B = BrokerConfig;
using storage::LogConfig;

}  // namespace key_words
}  // namespace pelton::broker
