#include "broker/config/describe.h"

#include <algorithm>
#include <set>

#include "broker/config/client_metrics_keys.h"
#include "broker/config/group_keys.h"
#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

using Synonyms = std::vector<ConfigSynonym>;

std::optional<std::string> normal(const ConfigKey& key, std::string_view text) {
  auto value = parse_value(key.rule, text);
  return value ? normal_text(key.rule.type, *value) : std::string(text);
}

std::optional<std::string> default_text(const ConfigKey& key) {
  if (!key.default_value) return std::nullopt;
  return normal(key, *key.default_value);
}

// "listener.name.x.key" may be given by `key` too.
std::vector<std::string_view> broker_spellings(std::string_view name) {
  std::string_view base = without_listener(name);
  if (base != name) return {name, base};
  return spellings_of(name);
}

// All that says something about the setting, the strongest first; from the first that has the name itself on.
Synonyms broker_synonyms(const BrokerConfig& broker, std::string_view name, bool sensitive) {
  std::vector<std::string_view> spellings = broker_spellings(name);
  Synonyms all;
  auto add_layer = [&](const ConfigTexts& layer, ConfigSource source) {
    for (std::string_view spelling : spellings) {
      auto found = layer.find(spelling);
      if (found == layer.end()) continue;
      std::optional<std::string> value;
      if (!sensitive) value = found->second;
      all.push_back({spelling, std::move(value), source});
    }
  };
  add_layer(broker.layers.dynamic_broker, ConfigSource::kDynamicBroker);
  add_layer(broker.layers.dynamic_default, ConfigSource::kDynamicDefaultBroker);
  add_layer(broker.layers.from_files, ConfigSource::kStaticBroker);
  for (std::string_view spelling : spellings) {
    const BrokerKey* key = find_broker_key(spelling);
    if (key == nullptr || !key->default_value) continue;
    std::optional<std::string> value;
    if (!sensitive) value = default_text(*key);
    all.push_back({spelling, std::move(value), ConfigSource::kDefault});
  }
  auto first = std::ranges::find(all, name, &ConfigSynonym::name);
  return {std::make_move_iterator(first), std::make_move_iterator(all.end())};
}

DescribedConfig describe_key(const ConfigKey& key) {
  DescribedConfig config;
  config.name = key.name;
  config.type = key.rule.type;
  config.sensitive = key.sensitive();
  config.documentation = key.text();
  return config;
}

// The strongest synonym says where the value comes from.
void add_synonyms(DescribedConfig& config, Synonyms synonyms) {
  if (!synonyms.empty()) config.source = synonyms.front().source;
  config.synonyms = std::move(synonyms);
}

// The value of a broker key, as it holds.
std::optional<std::string> broker_value(const BrokerConfig& broker, const BrokerKey& key) {
  if (key.sensitive()) return std::nullopt;
  const std::string* text = text_of(broker.layers, key.name);
  return text != nullptr ? normal(key, *text) : default_text(key);
}

DescribedConfig describe_broker_key(const BrokerConfig& broker, std::string_view name) {
  DescribedConfig config;
  const BrokerKey* key = find_broker_key(name);
  if (key != nullptr) {
    config = describe_key(*key);
    config.value = broker_value(broker, *key);
    config.read_only = key->mode == UpdateMode::kReadOnly;
  } else {
    // Nobody knows whether it is a secret.
    config.sensitive = config.read_only = true;
    if (const BrokerKey* base = find_broker_key(without_listener(name))) {
      config.type = base->rule.type;
      config.sensitive = base->sensitive();
      config.documentation = base->text();
      if (!config.sensitive) config.value = *text_of(broker.layers, name);
    }
  }
  config.name = name;
  add_synonyms(config, broker_synonyms(broker, name, config.sensitive));
  return config;
}

// A topic's default: what the broker says, in the topic's own unit.
std::optional<std::string> topic_default(const BrokerConfig& broker, const TopicKey& key) {
  if (key.acts() && key.default_value) return key.get(broker.log_defaults);
  const BrokerKey* first = find_broker_key(key.synonyms);
  return first != nullptr ? broker_value(broker, *first) : default_text(key);
}

template <class Visit>
void for_each_wanted(const ConfigTexts& texts, const WantedKeys& wanted, Visit visit) {
  if (wanted.all()) {
    for (const auto& setting : texts) visit(setting);
    return;
  }
  for (std::string_view name : wanted.names()) {
    if (auto setting = texts.find(name); setting != texts.end()) visit(*setting);
  }
}

std::string_view first_of(std::string_view list) { return list.substr(0, list.find(',')); }

}  // namespace

WantedKeys::WantedKeys(std::span<const std::string_view> names)
    : all_(false), names_(names.begin(), names.end()) {
  std::ranges::sort(names_);
  auto repeated = std::ranges::unique(names_);
  names_.erase(repeated.begin(), repeated.end());
}

bool WantedKeys::contains(std::string_view name) const {
  return all_ || std::ranges::binary_search(names_, name);
}

DescribedConfigs describe_topic(const BrokerConfig& broker, const TopicOverrides& overrides,
                                const WantedKeys& wanted) {
  DescribedConfigs configs;
  for (const TopicKey& key : topic_keys()) {
    if (!wanted.contains(key.name)) continue;
    auto overridden = overrides.find(key.name);
    if (key.internal && overridden == overrides.end()) continue;
    DescribedConfig config = describe_key(key);
    Synonyms synonyms;
    if (!key.synonyms.empty()) synonyms = broker_synonyms(broker, first_of(key.synonyms), false);
    if (overridden != overrides.end()) {
      config.value = normal(key, overridden->second);
      synonyms.insert(synonyms.begin(), {key.name, config.value, ConfigSource::kTopic});
    } else {
      config.value = topic_default(broker, key);
    }
    add_synonyms(config, std::move(synonyms));
    configs.push_back(std::move(config));
  }
  return configs;
}

DescribedConfigs describe_created_topic(const BrokerConfig& broker, const TopicOverrides& overrides) {
  DescribedConfigs configs;
  for (const TopicKey& key : topic_keys()) {
    auto overridden = overrides.find(key.name);
    if (key.internal && overridden == overrides.end()) continue;
    DescribedConfig config = describe_key(key);
    if (overridden != overrides.end()) {
      config.value = overridden->second;
      config.source = ConfigSource::kTopic;
    } else {
      config.value = topic_default(broker, key);
      // The strongest layer that has any spelling.
      std::vector<std::string> names = split_list(key.synonyms);
      auto has_any = [&](const ConfigTexts& layer) {
        return std::ranges::any_of(names, [&](const std::string& name) { return layer.contains(name); });
      };
      config.source = has_any(broker.layers.dynamic_broker)    ? ConfigSource::kDynamicBroker
                      : has_any(broker.layers.dynamic_default) ? ConfigSource::kDynamicDefaultBroker
                      : has_any(broker.layers.from_files)      ? ConfigSource::kStaticBroker
                                                               : ConfigSource::kDefault;
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

DescribedConfigs describe_broker(const BrokerConfig& broker, const WantedKeys& wanted) {
  std::set<std::string_view> names;
  if (wanted.all()) {
    for (const BrokerKey* key : broker_keys()) {
      if (!key->internal) names.insert(key->name);
    }
  } else {
    for (std::string_view name : wanted.names()) {
      const BrokerKey* key = find_broker_key(name);
      if (key != nullptr && !key->internal) names.insert(key->name);
    }
  }
  const ConfigLayers& layers = broker.layers;
  for (const ConfigTexts* layer : {&layers.from_files, &layers.dynamic_default, &layers.dynamic_broker}) {
    for_each_wanted(*layer, wanted, [&](const auto& setting) { names.insert(setting.first); });
  }
  DescribedConfigs configs;
  for (std::string_view name : names) configs.push_back(describe_broker_key(broker, name));
  return configs;
}

DescribedConfigs describe_broker_defaults(const BrokerConfig& broker, const WantedKeys& wanted) {
  DescribedConfigs configs;
  for_each_wanted(broker.layers.dynamic_default, wanted, [&](const auto& setting) {
    DescribedConfig config = describe_broker_key(broker, setting.first);
    std::erase_if(config.synonyms, [](const ConfigSynonym& synonym) {
      return synonym.source != ConfigSource::kDynamicDefaultBroker;
    });
    config.source = ConfigSource::kDynamicDefaultBroker;
    if (!config.sensitive) config.value = setting.second;
    configs.push_back(std::move(config));
  });
  return configs;
}

DescribedConfigs describe_group(const BrokerConfig& broker, const ConfigTexts& overrides,
                                const WantedKeys& wanted) {
  DescribedConfigs configs;
  for (const GroupKey& key : group_keys()) {
    if (!wanted.contains(key.name)) continue;
    auto overridden = overrides.find(key.name);
    if (key.internal && overridden == overrides.end()) continue;
    DescribedConfig config = describe_key(key);
    Synonyms synonyms;
    if (!key.broker_key.empty()) {
      synonyms = broker_synonyms(broker, key.broker_key, false);
      config.value = broker_value(broker, *find_broker_key(key.broker_key));
    } else {
      config.value = default_text(key);
      synonyms.push_back({key.name, config.value, ConfigSource::kDefault});
    }
    // One assignor, though the broker's key lists all.
    if (key.rule.type == ConfigType::kString && config.value) {
      config.value = std::string(first_of(*config.value));
    }
    if (overridden != overrides.end()) {
      config.value = normal(key, overridden->second);
      synonyms.insert(synonyms.begin(), {key.name, config.value, ConfigSource::kGroup});
    }
    add_synonyms(config, std::move(synonyms));
    configs.push_back(std::move(config));
  }
  return configs;
}

DescribedConfigs describe_client_metrics(const ConfigTexts& overrides, const WantedKeys& wanted) {
  DescribedConfigs configs;
  for (const ConfigKey& key : client_metrics_keys()) {
    if (!wanted.contains(key.name)) continue;
    DescribedConfig config = describe_key(key);
    config.value = default_text(key);
    if (auto overridden = overrides.find(key.name); overridden != overrides.end()) {
      config.value = normal(key, overridden->second);
      add_synonyms(config, {{key.name, config.value, ConfigSource::kClientMetrics}});
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace pelton::broker
