#include "broker/config/dynamic_config.h"

#include <fmt/format.h>

#include "broker/config/broker_values.h"
#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

using Outcome = Result<void, std::string>;

Outcome fail(std::string why) { return std::unexpected(std::move(why)); }

std::string shown(const BrokerKey& key, std::string_view name, std::string_view text) {
  return fmt::format("{}={}", name, key.sensitive() ? kHidden : text);
}

// Names would have to be looked up, and shards do not wait.
Outcome check_addresses(std::string_view text) {
  auto limits = parse_address_limits(text);
  if (!limits) return {};  // told with the rules between keys
  for (const auto& [host, count] : *limits) {
    if (is_numeric_address(host)) continue;
    return fail(fmt::format("max.connections.per.ip.overrides: {} is no address, and names are looked up only "
                            "when the broker starts",
                            host));
  }
  return {};
}

// One key by itself.
Outcome check_one(std::string_view name, std::string_view text, bool per_broker) {
  std::string_view base = without_listener(name);
  const BrokerKey* key = find_broker_key(base);
  if (key == nullptr) {
    std::string_view near = suggest_key(base);
    if (!near.empty()) return fail(fmt::format("unknown key {}; did you mean {}?", name, near));
    return {};  // for a plugin, as far as Apache Kafka is concerned
  }
  if (key->mode == UpdateMode::kReadOnly && base == name) {
    return fail(fmt::format("{} cannot be changed while the broker runs", name));
  }
  if (is_listener_security_key(name)) {
    return fail(fmt::format("{} can only be changed for one listener: listener.name.<listener>.{}", name,
                            name));
  }
  if (auto value = parse_value(key->rule, text); !value) {
    return fail(fmt::format("{}: {}", shown(*key, name, text), value.error()));
  }
  if (base == "max.connections.per.ip.overrides") {
    if (auto done = check_addresses(text); !done) return done;
  }
  // One that was kept is left out too: with nobody in, nobody could change it.
  if (is_listener_limit_key(base) && parse_value(key->rule, text)->number == 0) {
    return fail(fmt::format("{}={} would let nobody in", name, text));
  }
  bool for_one = key->mode == UpdateMode::kPerBroker || base != name;
  if (!per_broker && for_one) {
    return fail(fmt::format("{} can only be changed for one broker, not for all", name));
  }
  return {};
}

void parse_into(const ConfigTexts& texts, BrokerValues& values) {
  for (const auto& [name, text] : texts) {
    const BrokerKey* key = find_broker_key(name);
    if (key == nullptr) continue;
    if (auto value = parse_value(key->rule, text)) values.insert_or_assign(key->name, std::move(*value));
  }
}

// A stronger layer's spelling takes the place of all spellings of the weaker ones.
void lay_over(const ConfigTexts& texts, ConfigTexts& all) {
  for (const auto& [name, text] : texts) {
    for (std::string_view spelling : spellings_of(name)) {
      if (auto weaker = all.find(spelling); weaker != all.end()) all.erase(weaker);
    }
    all[name] = text;
  }
}

ConfigTexts sound_part(const ConfigTexts& texts, bool per_broker, std::vector<std::string>* left_out) {
  ConfigTexts sound;
  for (const auto& [name, text] : texts) {
    if (auto done = check_one(name, text, per_broker)) {
      sound[name] = text;
    } else if (left_out != nullptr) {
      left_out->push_back("dynamic configuration: " + done.error());
    }
  }
  return sound;
}

}  // namespace

BrokerConfig with_dynamic(const BrokerConfig& from_files, const ConfigTexts& defaults,
                          const ConfigTexts& of_this_broker, std::vector<std::string>* left_out) {
  BrokerConfig config = from_files;
  config.layers.dynamic_default = sound_part(defaults, false, left_out);
  config.layers.dynamic_broker = sound_part(of_this_broker, true, left_out);
  ConfigTexts dynamic = config.layers.dynamic_default;
  lay_over(config.layers.dynamic_broker, dynamic);
  BrokerValues values;
  parse_into(dynamic, values);
  set_values(values, config);
  set_listener_limits(config);
  return config;
}

Outcome check_dynamic(const BrokerConfig& now, const ConfigTexts& texts, bool per_broker) {
  for (const auto& [name, text] : texts) {
    if (auto done = check_one(name, text, per_broker); !done) return done;
  }
  ConfigTexts all = now.layers.from_files;
  lay_over(per_broker ? now.layers.dynamic_default : texts, all);
  lay_over(per_broker ? texts : now.layers.dynamic_broker, all);
  BrokerValues values;
  parse_into(all, values);
  std::vector<KeyProblem> problems = check_between_keys(values);
  if (!problems.empty()) return fail(problems.front().why);
  return {};
}

}  // namespace pelton::broker
