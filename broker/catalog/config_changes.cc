#include "broker/catalog/config_changes.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "broker/catalog/topic_changes.h"
#include "broker/config/client_metrics_keys.h"
#include "broker/config/config_size.h"
#include "broker/config/dynamic_config.h"
#include "broker/config/group_keys.h"
#include "broker/config/keys.h"
#include "broker/config/topic_keys.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

// Several times what there is. Unknown keys are kept for plugins, and every change looks at all of them.
constexpr size_t kMaxBrokerKeys = 2'000;

using proto::ErrorCode;
using enum ConfigResourceType;

ConfigFault refuse(ErrorCode error, std::string message) { return {error, std::move(message)}; }

const ConfigKey* find_list_key(ConfigResourceType type, std::string_view name) {
  const ConfigKey* key = nullptr;
  if (type == kTopic) key = find_topic_key(name);
  if (type == kBroker) key = find_broker_key(name);
  return key != nullptr && key->rule.type == ConfigType::kList ? key : nullptr;
}

// What is there already is not added again.
std::vector<std::string> with(std::vector<std::string> list, std::vector<std::string> elements) {
  std::unordered_set<std::string> there(list.begin(), list.end());
  for (std::string& element : elements) {
    if (there.insert(element).second) list.push_back(std::move(element));
  }
  return list;
}

// Each element takes the first of its kind away.
std::vector<std::string> without(std::vector<std::string> list, const std::vector<std::string>& elements) {
  std::unordered_map<std::string_view, size_t> taken;
  for (const std::string& element : elements) ++taken[element];
  std::erase_if(list, [&](const std::string& one) {
    auto found = taken.find(one);
    return found != taken.end() && found->second > 0 && found->second-- > 0;
  });
  return list;
}

class Planner {
 public:
  Planner(const CatalogReplay& state, const ConfigChange& change, MetadataRecords& records)
      : state_(state), change_(change), type_(static_cast<ConfigResourceType>(change.type)),
        name_(change.name), before_(state.config(type_, name_)), records_(records) {}

  ConfigFault plan() {
    after_ = change_.replaces ? ConfigTexts() : before_;
    for (const ConfigAlteration& alteration : change_.alterations) {
      if (ConfigFault done = alter(alteration); done.error != ErrorCode::kNone) return done;
    }
    if (std::string wrong = check_config_size(before_, after_); !wrong.empty()) {
      return refuse(ErrorCode::kInvalidConfig, std::move(wrong));
    }
    if (ConfigFault done = check(); done.error != ErrorCode::kNone) return done;
    add_records();
    return {};
  }

 private:
  ConfigFault alter(const ConfigAlteration& alteration) {
    std::string name(alteration.name);
    switch (static_cast<AlterOperation>(alteration.operation)) {
      case AlterOperation::kSet: after_[name] = *alteration.value; return {};
      case AlterOperation::kDelete: after_.erase(name); return {};
      case AlterOperation::kAppend:
      case AlterOperation::kSubtract: return alter_list(alteration);
    }
    return refuse(ErrorCode::kInvalidRequest,
                  fmt::format("{}: there is no operation {}", name, alteration.operation));
  }

  // Elements are added to, or taken from, what the resource sets itself, else the key's default.
  ConfigFault alter_list(const ConfigAlteration& alteration) {
    const ConfigKey* key = find_list_key(type_, alteration.name);
    if (key == nullptr) {
      return refuse(ErrorCode::kInvalidConfig,
                    fmt::format("{} is no list: nothing can be appended or subtracted", alteration.name));
    }
    auto own = after_.find(alteration.name);
    std::vector<std::string> list =
        split_list(own != after_.end() ? std::string_view(own->second) : key->default_value.value_or(""));
    std::vector<std::string> elements = split_list(*alteration.value);
    bool subtracts = alteration.operation == static_cast<int8_t>(AlterOperation::kSubtract);
    list = subtracts ? without(std::move(list), elements) : with(std::move(list), std::move(elements));
    after_.insert_or_assign(std::string(alteration.name), fmt::format("{}", fmt::join(list, ",")));
    return {};
  }

  ConfigFault check() const {
    switch (type_) {
      case kTopic: return check_topic();
      case kBroker: return check_broker();
      case kClientMetrics: return check_subscription();
      case kGroup: return check_group();
      case kBrokerLogger: break;
    }
    return refuse(ErrorCode::kInvalidRequest,
                  fmt::format("resources of type {} have no such configuration", change_.type));
  }

  ConfigFault check_topic() const {
    if (name_.empty()) {
      return refuse(ErrorCode::kInvalidRequest, "a topic's configuration belongs to one topic");
    }
    if (std::string wrong = check_topic_name(name_); !wrong.empty()) {
      return refuse(ErrorCode::kInvalidTopicException, std::move(wrong));
    }
    if (auto done = check_topic_overrides(after_); !done) {
      return refuse(ErrorCode::kInvalidConfig, done.error());
    }
    if (state_.find(std::string_view(name_)) == nullptr) {
      return refuse(ErrorCode::kUnknownTopicOrPartition, fmt::format("there is no topic {}", name_));
    }
    return {};
  }

  ConfigFault check_broker() const {
    std::shared_ptr<const BrokerConfig> now = state_.broker_config();
    ConfigFault named = check_broker_name(name_, now->node_id, true);
    if (named.error != ErrorCode::kNone) return named;
    if (after_.size() > kMaxBrokerKeys && after_.size() > before_.size()) {
      return refuse(ErrorCode::kPolicyViolation,
                    fmt::format("a broker may have at most {} dynamic keys", kMaxBrokerKeys));
    }
    // What is persisted and unsound is passed over, not held against this change.
    ConfigTexts sound = after_;
    const ConfigTexts& in_force = name_.empty() ? now->layers.dynamic_default : now->layers.dynamic_broker;
    for (const auto& [name, text] : before_) {
      auto kept = sound.find(name);
      if (kept != sound.end() && kept->second == text && !in_force.contains(name)) sound.erase(kept);
    }
    if (auto done = check_dynamic(*now, sound, !name_.empty()); !done) {
      return refuse(ErrorCode::kInvalidRequest, done.error());
    }
    return {};
  }

  ConfigFault check_subscription() const {
    if (name_.empty()) return refuse(ErrorCode::kInvalidRequest, "the subscription has no name");
    ConfigFault fault = check_client_metrics(after_);
    return {fault.error, std::move(fault.why)};
  }

  ConfigFault check_group() const {
    if (name_.empty()) {
      return refuse(ErrorCode::kInvalidRequest, "a group's configuration belongs to one group");
    }
    if (auto done = check_group_config(*state_.broker_config(), after_); !done) {
      return refuse(ErrorCode::kInvalidConfig, done.error());
    }
    return {};
  }

  // A broker's values are recorded even when they stay the same, as Apache Kafka does.
  void add_records() {
    bool always = type_ == kBroker;
    std::set<std::string_view> names;
    for (const ConfigAlteration& alteration : change_.alterations) names.insert(alteration.name);
    for (std::string_view name : names) {
      auto before = before_.find(name);
      auto after = after_.find(name);
      bool same = before == before_.end() ? after == after_.end()
                                          : after != after_.end() && before->second == after->second;
      if (always || !same) add_record(name, after == after_.end() ? nullptr : &after->second);
    }
    for (const auto& [name, text] : before_) {
      if (!after_.contains(name) && !names.contains(name)) add_record(name, nullptr);
    }
  }

  void add_record(std::string_view name, const std::string* text) {
    proto::ConfigRecord record{
        .resource_type = change_.type, .resource_name = name_, .name = name, .value = std::nullopt};
    if (text != nullptr) record.value = *text;
    records_.add(record);
  }

  const CatalogReplay& state_;
  const ConfigChange& change_;
  ConfigResourceType type_;
  std::string name_;
  const ConfigTexts& before_;
  ConfigTexts after_;
  MetadataRecords& records_;
};

}  // namespace

ConfigFault check_alterations(const ConfigChange& change) {
  std::set<std::string_view> names;
  for (const ConfigAlteration& alteration : change.alterations) {
    if (!names.insert(alteration.name).second) {
      return refuse(ErrorCode::kInvalidRequest, fmt::format("{} is there twice", alteration.name));
    }
    bool deletes = alteration.operation == static_cast<int8_t>(AlterOperation::kDelete);
    if (!alteration.value && !deletes) {
      return refuse(ErrorCode::kInvalidRequest, fmt::format("{} has no value", alteration.name));
    }
  }
  return {};
}

ConfigFault check_broker_name(std::string_view name, int32_t node_id, bool may_be_empty) {
  if (name.empty() && may_be_empty) return {};
  int32_t id = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  bool whole = error == std::errc() && end == name.data() + name.size();
  if (whole && id == node_id) return {};
  return refuse(ErrorCode::kInvalidRequest,
                fmt::format("\"{}\" is not this broker's id, {}", name, node_id));
}

ConfigFault plan_config_change(const CatalogReplay& state, const ConfigChange& change,
                                 MetadataRecords& records) {
  MetadataRecords planned;
  ConfigFault outcome = Planner(state, change, planned).plan();
  if (outcome.error == ErrorCode::kNone) records.add_all(planned);
  return outcome;
}

}  // namespace pelton::broker
