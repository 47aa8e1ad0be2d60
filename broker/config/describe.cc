#include "broker/config/describe.h"

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

void add_given(const BrokerConfig& broker, std::string_view key, std::vector<ConfigSynonym>& synonyms) {
  auto given = broker.given.find(key);
  if (given != broker.given.end()) {
    synonyms.push_back({key, given->second, ConfigSource::kStaticBroker});
  }
}

void add_default(std::string_view key, std::vector<ConfigSynonym>& synonyms) {
  const BrokerKey* known = find_broker_key(key);
  if (known != nullptr && !known->null_default) {
    synonyms.push_back({key, std::string(known->default_value), ConfigSource::kDefault});
  }
}

std::vector<std::string_view> names(std::string_view list) {
  std::vector<std::string_view> result;
  while (!list.empty()) {
    size_t comma = list.find(',');
    result.push_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return result;
}

DescribedConfig describe_topic_key(const TopicKey& key, const BrokerConfig& broker,
                                   const TopicOverrides& overrides) {
  DescribedConfig config;
  config.name = key.name;
  config.type = key.rule.type;
  config.documentation = key.documentation;
  config.value = key.acts() ? key.get(broker.log_defaults) : std::string(key.default_value);
  auto overridden = overrides.find(std::string(key.name));
  if (overridden != overrides.end()) {
    config.value = overridden->second;
    config.synonyms.push_back({key.name, overridden->second, ConfigSource::kDynamicTopic});
  }
  std::vector<std::string_view> broker_keys = names(key.synonyms);
  for (std::string_view name : broker_keys) add_given(broker, name, config.synonyms);
  if (!config.synonyms.empty()) config.source = config.synonyms.front().source;
  // Kafka tells a default by the key's first synonym only.
  if (!broker_keys.empty()) add_default(broker_keys.front(), config.synonyms);
  return config;
}

}  // namespace

std::vector<DescribedConfig> describe_topic(const BrokerConfig& broker,
                                            const TopicOverrides& overrides) {
  std::vector<DescribedConfig> configs;
  for (const TopicKey& key : topic_keys()) {
    bool shown = key.acts() && !key.default_value.empty();
    if (shown || overrides.contains(std::string(key.name))) {
      configs.push_back(describe_topic_key(key, broker, overrides));
    }
  }
  return configs;
}

std::vector<DescribedConfig> describe_broker(const BrokerConfig& broker) {
  std::vector<DescribedConfig> configs;
  for (const BrokerKey& key : broker_keys()) {
    DescribedConfig config;
    config.name = key.name;
    config.type = key.rule.type;
    config.documentation = key.documentation;
    config.read_only = true;  // nothing changes without a restart yet
    if (!key.null_default) config.value = std::string(key.default_value);
    add_given(broker, key.name, config.synonyms);
    add_default(key.name, config.synonyms);
    if (!config.synonyms.empty()) {
      config.source = config.synonyms.front().source;
      config.value = config.synonyms.front().value;
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace pelton::broker
