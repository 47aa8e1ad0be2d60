// Topic-level configuration: one table of all of Apache Kafka 4.4's topic keys. Those with a setter act
// here; the others are checked and stored, and act once what they steer exists.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/config/config_key.h"
#include "broker/config/config_layers.h"
#include "storage/log_config.h"

namespace pelton::broker {

struct TopicKey : ConfigKey {
  std::string_view synonyms;  // broker keys that give the default, strongest first
  void (*set)(storage::LogConfig& config, const ConfigValue& value) = nullptr;
  std::string (*get)(const storage::LogConfig& config) = nullptr;
};

// Sorted by name.
std::span<const TopicKey> topic_keys();
const TopicKey* find_topic_key(std::string_view name);

// The value of compression.type, checked already, in a LogConfig.
void set_compression_type(storage::LogConfig& config, const ConfigValue& value);

// What a topic sets itself.
using TopicOverrides = ConfigTexts;

// The error is one sentence: the first of an unknown key, a bad value, values that contradict.
Result<void, std::string> check_topic_overrides(const TopicOverrides& overrides);

// The broker's defaults with the overrides on top. Overrides that do not parse (a directory may hold
// anything) are passed over.
storage::LogConfig topic_log_config(const storage::LogConfig& defaults,
                                    const TopicOverrides& overrides);

}  // namespace pelton::broker
