#include "broker/config/load_config.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

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
    set_values();
    set_node_id();
    set_listeners();
    set_log_dir();
    check_single_node();
    check_together();
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
    settings_.insert_or_assign(std::move(key), std::move(setting));
  }

  const Setting* given(std::string_view key) const {
    auto found = settings_.find(key);
    return found == settings_.end() ? nullptr : &found->second;
  }

  std::string text_of(std::string_view key) const {
    if (const Setting* setting = given(key)) return setting->value;
    return std::string(find_broker_key(key)->default_value);
  }

  void fail(const Setting& setting, std::string_view why) {
    errors_.push_back(fmt::format("{}: {}={}: {}", setting.place, setting.key, setting.value, why));
  }
  void fail(std::string_view key, std::string_view why) {
    const Setting* setting = given(key);
    errors_.push_back(setting == nullptr ? std::string(why)
                                         : fmt::format("{}: {}", setting->place, why));
  }

  // --- each key by itself ---
  void judge(const Setting& setting) {
    if (const BrokerKey* key = find_broker_key(setting.key)) {
      auto value = parse_value(key->rule, setting.value);
      if (!value) return fail(setting, value.error());
      config_.given[setting.key] = value->text;
      values_.emplace(key->name, std::move(*value));
    } else if (const IdleKey* idle = find_idle_key(setting.key)) {
      idle_[idle->group].push_back(setting.key);
    } else if (setting.key.starts_with("listener.name.")) {
      idle_[IdleGroup::kSecurity].push_back(setting.key);
    } else {
      judge_unknown(setting);
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
    std::string_view near = suggest_key(setting.key);
    if (!near.empty()) {
      errors_.push_back(fmt::format("{}: unknown key {}={}; did you mean {}?", setting.place,
                                    setting.key, setting.value, near));
    } else {
      notices_.push_back(fmt::format("{}: unknown key {} is ignored", setting.place, setting.key));
    }
  }

  // In the table's order: of several spellings of one setting the strongest is set last.
  void set_values() {
    for (const BrokerKey& key : broker_keys()) {
      auto value = values_.find(key.name);
      if (value != values_.end() && key.set != nullptr) key.set(config_, value->second);
    }
  }

  // --- settings made of several keys ---
  void set_node_id() {
    auto node = values_.find("node.id");
    auto broker = values_.find("broker.id");
    bool has_broker = broker != values_.end() && broker->second.number >= 0;
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
                                     .controller_names = text_of("controller.listener.names")});
    if (listeners) {
      config_.listeners = std::move(*listeners);
      return;
    }
    std::string_view message = listeners.error();
    fail(message.substr(0, message.find(':')), message);
  }

  void set_log_dir() {
    std::string_view key = given("log.dirs") != nullptr ? "log.dirs" : "log.dir";
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
    for (std::string_view key : {"default.replication.factor", "offsets.topic.replication.factor",
                                 "min.insync.replicas"}) {
      auto value = values_.find(key);
      if (value == values_.end() || value->second.number <= 1) continue;
      notices_.push_back(fmt::format("{}: {}={} is taken as 1: this is a single node",
                                     given(key)->place, key, value->second.text));
      config_.given.insert_or_assign(std::string(key), std::string("1"));
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
  }

  void check_together() {
    if (config_.group_min_session_timeout_ms > config_.group_max_session_timeout_ms) {
      fail(given("group.min.session.timeout.ms") != nullptr ? "group.min.session.timeout.ms"
                                                            : "group.max.session.timeout.ms",
           fmt::format("group.min.session.timeout.ms={} must not be above "
                       "group.max.session.timeout.ms={}",
                       config_.group_min_session_timeout_ms, config_.group_max_session_timeout_ms));
    }
    for (std::string_view key : {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
      auto value = values_.find(key);
      if (value != values_.end() && value->second.number == 0) {
        fail(*given(key), "must be -1 (no limit) or at least 1");
      }
    }
  }

  void give_idle_notices() {
    auto notice = [this](IdleGroup group, std::string_view why) {
      auto found = idle_.find(group);
      if (found == idle_.end()) return;
      notices_.push_back(fmt::format("{}: {}", why, fmt::join(found->second, ", ")));
    };
    notice(IdleGroup::kQuorum, "a single node has no quorum; these keys do nothing");
    notice(IdleGroup::kThreads, "one thread a shard does everything; these keys do nothing");
    notice(IdleGroup::kReplication, "a single node does not replicate; these keys do nothing");
    notice(IdleGroup::kSecurity, "TLS, SASL and access control are not there yet; these keys do nothing");
    notice(IdleGroup::kRemote, "there is no remote storage; these keys do nothing");
    notice(IdleGroup::kOther, "these keys do nothing in this broker");
  }

  const ConfigSources& sources_;
  std::vector<std::string>& notices_;
  std::vector<std::string> errors_;
  std::map<std::string, Setting, std::less<>> settings_;
  std::map<std::string_view, ConfigValue> values_;  // of keys that act, sound ones only
  std::map<IdleGroup, std::vector<std::string>> idle_;
  BrokerConfig config_;
};

}  // namespace

Result<BrokerConfig, std::vector<std::string>> load_config(const ConfigSources& sources,
                                                           std::vector<std::string>& notices) {
  return Loader(sources, notices).load();
}

}  // namespace pelton::broker
