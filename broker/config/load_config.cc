#include "broker/config/load_config.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "broker/config/broker_values.h"
#include "broker/config/config_value.h"
#include "broker/config/keys.h"
#include "broker/config/listeners.h"
#include "broker/config/properties.h"
#include "broker/config/topic_keys.h"

namespace pelton::broker {
namespace {

class Loader {
 public:
  Loader(const ConfigSources& sources, std::vector<std::string>& notices)
      : sources_(sources), notices_(notices) {}

  Result<BrokerConfig, std::vector<std::string>> load() {
    collect();
    for (const auto& [key, setting] : settings_) judge(setting);
    set_values(values_, config_);
    set_node_id();
    set_listeners();
    set_listener_limits(config_);
    set_metrics_listener();
    set_log_dir();
    check_single_node();
    for (const KeyProblem& problem : check_between_keys(values_)) fail(problem.key, problem.why);
    give_idle_notices();
    if (!errors_.empty()) return std::unexpected(std::move(errors_));
    return std::move(config_);
  }

 private:
  // --- the three sources, the stronger one later ---
  void collect() {
    if (auto parsed = parse_properties(sources_.file_text, sources_.file_name)) {
      for (Setting& setting : *parsed) put(std::move(setting));
    } else {
      errors_.push_back(parsed.error());
    }
    for (const std::string& variable : sources_.environment) {
      if (auto setting = parse_environment(variable)) put(std::move(*setting));
      constexpr std::string_view kClusterId = "CLUSTER_ID=";
      if (variable.starts_with(kClusterId)) config_.cluster_id = variable.substr(kClusterId.size());
    }
    for (const std::string& argument : sources_.overrides) {
      if (auto setting = parse_override(argument)) {
        put(std::move(*setting));
      } else {
        errors_.push_back(setting.error());
      }
    }
  }

  void put(Setting setting) {
    std::string key = setting.key;
    if (const Setting* earlier = given(key); earlier != nullptr && earlier->source == setting.source) {
      notices_.push_back(fmt::format("{}: {} is there already ({}); the later one counts", setting.place,
                                     key, earlier->place));
    }
    settings_.insert_or_assign(std::move(key), std::move(setting));
  }

  const Setting* given(std::string_view key) const {
    auto found = settings_.find(key);
    return found == settings_.end() ? nullptr : &found->second;
  }

  std::string text_of(std::string_view key) const {
    if (const Setting* setting = given(key)) return setting->value;
    return std::string(find_broker_key(key)->default_value.value_or(""));
  }

  void fail(const Setting& setting, std::string_view why) {
    const BrokerKey* key = find_broker_key(without_listener(setting.key));
    std::string_view shown = key != nullptr && key->sensitive() ? kHidden : setting.value;
    errors_.push_back(fmt::format("{}: {}={}: {}", setting.place, setting.key, shown, why));
  }
  void fail(std::string_view key, std::string_view why) {
    const Setting* setting = given(key);
    errors_.push_back(setting == nullptr ? std::string(why)
                                         : fmt::format("{}: {}", setting->place, why));
  }

  // --- each key by itself ---
  void judge(const Setting& setting) {
    const BrokerKey* key = find_broker_key(without_listener(setting.key));
    if (key == nullptr) return judge_unknown(setting);
    auto value = parse_value(key->rule, setting.value);
    if (!value) return fail(setting, value.error());
    config_.layers.from_files[setting.key] = value->text;
    if (!key->acts()) idle_[key->use].push_back(setting.key);
    if (key->name == setting.key) {
      values_.emplace(key->name, std::move(*value));
    } else if (key->acts() && !is_listener_limit_key(key->name)) {
      notices_.push_back(fmt::format("{}: {}: one listener cannot have its own {} here; the key is ignored",
                                     setting.place, setting.key, key->name));
    }
  }

  void judge_unknown(const Setting& setting) {
    if (const TopicKey* topic = find_topic_key(setting.key)) {
      std::string_view broker_key = topic->synonyms.substr(0, topic->synonyms.find(','));
      notices_.push_back(fmt::format("{}: {} is a topic's key and is ignored here{}{}", setting.place,
                                     setting.key, broker_key.empty() ? "" : "; the broker's key is ",
                                     broker_key));
      return;
    }
    std::string_view near = suggest_key(without_listener(setting.key));
    if (!near.empty()) {
      std::string_view shown = find_broker_key(near)->sensitive() ? kHidden : setting.value;
      errors_.push_back(fmt::format("{}: unknown key {}={}; did you mean {}?", setting.place, setting.key,
                                    shown, near));
      return;
    }
    config_.layers.from_files[setting.key] = setting.value;
    notices_.push_back(fmt::format("{}: unknown key {} is ignored", setting.place, setting.key));
  }

  // --- settings made of several keys ---
  void set_node_id() {
    auto node = values_.find("node.id");
    auto broker = values_.find("broker.id");
    bool has_broker = broker != values_.end() && broker->second.number >= 0;
    if (has_broker || node != values_.end()) {
      // Each is told as the other's spelling.
      const ConfigValue& id = node != values_.end() ? node->second : broker->second;
      config_.layers.from_files["node.id"] = config_.layers.from_files["broker.id"] = id.text;
    }
    if (node != values_.end()) {
      config_.node_id = static_cast<int32_t>(node->second.number);
      if (has_broker && broker->second.number != node->second.number) {
        fail("broker.id", fmt::format("broker.id={} and node.id={} must be the same",
                                      broker->second.text, node->second.text));
      }
    } else if (has_broker) {
      config_.node_id = static_cast<int32_t>(broker->second.number);
    }
  }

  void set_listeners() {
    auto listeners = make_listeners({.listeners = text_of("listeners"),
                                     .advertised = text_of("advertised.listeners"),
                                     .protocol_map = text_of("listener.security.protocol.map"),
                                     .protocol_map_given = given("listener.security.protocol.map") != nullptr,
                                     .controller_names = text_of("controller.listener.names")},
                                    notices_);
    if (listeners) {
      config_.listeners = std::move(listeners->of_clients);
      config_.controller_listeners = std::move(listeners->of_controllers);
      return;
    }
    std::string_view message = listeners.error();
    fail(message.substr(0, message.find(':')), message);
  }

  void set_metrics_listener() {
    constexpr std::string_view kKey = "pelton.metrics.listener";
    std::string text = text_of(kKey);
    if (text.empty()) return;
    auto address = parse_bind_address(text);
    if (address) {
      config_.metrics_listener = *address;
      config_.metrics_listener_given = given(kKey) != nullptr;
    } else {
      fail(kKey, fmt::format("{}={}: {}", kKey, text, address.error()));
    }
  }

  void set_log_dir() {
    std::string_view key = given("log.dirs") != nullptr ? "log.dirs" : "log.dir";
    if (given(key) != nullptr && !values_.contains(key)) return;  // told already
    std::vector<std::string> directories = split_list(text_of(key));
    if (directories.size() == 1 && !directories.front().empty()) {
      config_.log_dir = directories.front();
    } else {
      fail(key, fmt::format("{}={}: one directory is needed; several are not there yet", key,
                            text_of(key)));
    }
  }

  // --- rules that hold between keys ---
  void check_single_node() {
    for (std::string_view key :
         {"default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor",
          "share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor",
          "transaction.state.log.min.isr", "transaction.state.log.replication.factor"}) {
      auto value = values_.find(key);
      if (value == values_.end() || value->second.number <= 1) continue;
      notices_.push_back(fmt::format("{}: {}={} is taken as 1: this is a single node",
                                     given(key)->place, key, value->second.text));
      config_.layers.from_files.insert_or_assign(std::string(key), std::string("1"));
    }
    if (const Setting* voters = given("controller.quorum.voters")) {
      if (split_list(voters->value).size() > 1) {
        fail(*voters, "a quorum of several nodes is not there yet; one voter, this node, is allowed");
      }
    }
    if (const Setting* roles = given("process.roles")) {
      std::vector<std::string> list = split_list(roles->value);
      if (std::ranges::count(list, "broker") == 0) {
        fail(*roles, "this process is a broker; broker or broker,controller is expected");
      }
    }
    if (const Setting* authorizer = given("authorizer.class.name")) {
      if (!authorizer->value.empty()) {
        fail(*authorizer, "there is no authorizer yet, and starting without it would let everyone in");
      }
    }
    if (const Setting* providers = given("config.providers")) {
      if (!providers->value.empty()) {
        fail(*providers, "there are no config providers: ${...} in a value would be taken as it stands");
      }
    }
  }

  void give_idle_notices() {
    for (const auto& [use, keys] : idle_) {
      std::string_view reason = idle_reason(use);
      notices_.push_back(fmt::format("{}{}these keys do nothing{}: {}", reason, reason.empty() ? "" : "; ",
                                     reason.empty() ? " here" : "", fmt::join(keys, ", ")));
    }
  }

  const ConfigSources& sources_;
  std::vector<std::string>& notices_;
  std::vector<std::string> errors_;
  std::map<std::string, Setting, std::less<>> settings_;
  BrokerValues values_;  // of known keys, sound ones only
  std::map<KeyUse, std::vector<std::string>> idle_;
  BrokerConfig config_;
};

}  // namespace

Result<BrokerConfig, std::vector<std::string>> load_config(const ConfigSources& sources,
                                                           std::vector<std::string>& notices) {
  return Loader(sources, notices).load();
}

}  // namespace pelton::broker
