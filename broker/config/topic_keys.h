// Topic-level configuration: one table of all of Apache Kafka 4.4's topic keys. Those with a setter act
// here; the others are checked and stored, and act once what they steer exists.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "broker/config/config_value.h"
#include "storage/log_config.h"

namespace pelton::broker {

struct TopicKey {
  std::string_view name;
  ValueRule rule;
  std::string_view default_value;  // when neither the topic nor the broker says anything
  std::string_view synonyms;       // broker keys that give the default, strongest first
  std::string_view documentation;
  void (*set)(storage::LogConfig& config, const ConfigValue& value) = nullptr;
  std::string (*get)(const storage::LogConfig& config) = nullptr;

  bool acts() const { return set != nullptr; }
};

// Sorted by name.
std::span<const TopicKey> topic_keys();
const TopicKey* find_topic_key(std::string_view name);

// The value of compression.type, checked already, in a LogConfig.
void set_compression_type(storage::LogConfig& config, const ConfigValue& value);

using TopicOverrides = std::map<std::string, std::string>;

// The error is one sentence: the first of an unknown key, a bad value, values that contradict.
Result<void, std::string> check_topic_overrides(const TopicOverrides& overrides);

// The broker's defaults with the overrides on top. Overrides that do not parse (a directory may hold
// anything) are passed over.
storage::LogConfig topic_log_config(const storage::LogConfig& defaults,
                                    const TopicOverrides& overrides);

}  // namespace pelton::broker
