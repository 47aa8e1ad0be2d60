#include "broker/config/group_keys.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

using namespace key_words;
using Default = std::optional<std::string_view>;
using Outcome = Result<void, std::string>;

constexpr GroupKey key(std::string_view name, ValueRule rule, Default default_value,
                       std::string_view broker_key = {}) {
  return {{name, rule, default_value, kMedium, kNewGroups, false, {}}, broker_key};
}
constexpr GroupKey internal(GroupKey one) {
  one.internal = true;
  return one;
}
constexpr GroupKey low(GroupKey one) {
  one.importance = kLow;
  return one;
}

constexpr GroupKey kKeys[] = {
    key("consumer.assignment.interval.ms", at_least(kInt, 0), "1000",
        "group.consumer.assignment.interval.ms"),
    internal(key("consumer.assignor.offload.enable", any(kBoolean), "true",
                 "group.consumer.assignor.offload.enable")),
    key("consumer.heartbeat.interval.ms", at_least(kInt, 1), "5000",
        "group.consumer.heartbeat.interval.ms"),
    key("consumer.session.timeout.ms", at_least(kInt, 1), "45000", "group.consumer.session.timeout.ms"),
    key("errors.deadletterqueue.copy.record.enable", any(kBoolean), "false"),
    key("errors.deadletterqueue.topic.name", any(kString), ""),
    key("share.assignment.interval.ms", at_least(kInt, 0), "1000", "group.share.assignment.interval.ms"),
    internal(key("share.assignor.offload.enable", any(kBoolean), "true",
                 "group.share.assignor.offload.enable")),
    key("share.auto.offset.reset", checked(kString, kOffsetResetForm, check_offset_reset), "latest"),
    key("share.delivery.count.limit", at_least(kInt, 2), "5", "group.share.delivery.count.limit"),
    key("share.heartbeat.interval.ms", at_least(kInt, 1), "5000", "group.share.heartbeat.interval.ms"),
    key("share.isolation.level", one_of(kString, "read_committed,read_uncommitted"), "read_uncommitted"),
    key("share.partition.max.record.locks", at_least(kInt, 100), "2000",
        "group.share.partition.max.record.locks"),
    key("share.record.lock.duration.ms", at_least(kInt, 1'000), "30000",
        "group.share.record.lock.duration.ms"),
    key("share.renew.acknowledge.enable", any(kBoolean), "true"),
    key("share.session.timeout.ms", at_least(kInt, 1), "45000", "group.share.session.timeout.ms"),
    internal(key("streams.acceptable.recovery.lag", at_least(kLong, 0), "10000",
                 "group.streams.acceptable.recovery.lag")),
    key("streams.assignment.interval.ms", at_least(kInt, 0), "1000",
        "group.streams.assignment.interval.ms"),
    key("streams.assignor.name", any(kString), kNull, "group.streams.assignors"),
    internal(key("streams.assignor.offload.enable", any(kBoolean), "true",
                 "group.streams.assignor.offload.enable")),
    key("streams.heartbeat.interval.ms", at_least(kInt, 1), "5000",
        "group.streams.heartbeat.interval.ms"),
    key("streams.initial.rebalance.delay.ms", at_least(kInt, 0), "3000",
        "group.streams.initial.rebalance.delay.ms"),
    key("streams.num.standby.replicas", at_least(kInt, 0), "0", "group.streams.num.standby.replicas"),
    internal(key("streams.num.warmup.replicas", at_least(kInt, 0), "2",
                 "group.streams.num.warmup.replicas")),
    low(key("streams.rack.aware.assignment.tags", any(kList), "",
            "group.streams.rack.aware.assignment.tags")),
    key("streams.session.timeout.ms", at_least(kInt, 1), "45000", "group.streams.session.timeout.ms"),
    internal(key("streams.task.offset.interval.ms", at_least(kInt, 1), "60000",
                 "group.streams.task.offset.interval.ms")),
};

// A group's value lies between what these keys of the broker say; an empty one is no bound.
struct Bounds {
  std::string_view key;
  std::string_view least;
  std::string_view most;
};
constexpr Bounds kBounds[] = {
    {"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms",
     "group.consumer.max.assignment.interval.ms"},
    {"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms",
     "group.consumer.max.heartbeat.interval.ms"},
    {"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms",
     "group.consumer.max.session.timeout.ms"},
    {"share.assignment.interval.ms", "group.share.min.assignment.interval.ms",
     "group.share.max.assignment.interval.ms"},
    {"share.delivery.count.limit", "group.share.min.delivery.count.limit",
     "group.share.max.delivery.count.limit"},
    {"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms",
     "group.share.max.heartbeat.interval.ms"},
    {"share.partition.max.record.locks", "group.share.min.partition.max.record.locks",
     "group.share.max.partition.max.record.locks"},
    {"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms",
     "group.share.max.record.lock.duration.ms"},
    {"share.session.timeout.ms", "group.share.min.session.timeout.ms",
     "group.share.max.session.timeout.ms"},
    {"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms",
     "group.streams.max.assignment.interval.ms"},
    {"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms",
     "group.streams.max.heartbeat.interval.ms"},
    {"streams.num.standby.replicas", {}, "group.streams.max.standby.replicas"},
    {"streams.num.warmup.replicas", {}, "group.streams.max.warmup.replicas"},
    {"streams.session.timeout.ms", "group.streams.min.session.timeout.ms",
     "group.streams.max.session.timeout.ms"},
    {"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", {}},
};

ConfigValue broker_value(const BrokerConfig& broker, std::string_view name) {
  const BrokerKey* known = find_broker_key(name);
  const std::string* text = text_of(broker.layers, name);
  auto value = parse_value(known->rule, text != nullptr ? *text : known->default_value.value_or(""));
  return value ? std::move(*value) : ConfigValue{};
}

Outcome fail(std::string why) { return std::unexpected(std::move(why)); }

class Checker {
 public:
  Checker(const BrokerConfig& broker, const ConfigTexts& config) : broker_(broker), config_(config) {}

  Outcome check() {
    for (const auto& [name, text] : config_) {
      const GroupKey* known = find_group_key(name);
      if (known == nullptr) return fail(fmt::format("unknown group configuration: {}", name));
      auto value = parse_value(known->rule, text);
      if (!value) return fail(fmt::format("{}={}: {}", name, text, value.error()));
      values_.emplace(known->name, std::move(*value));
    }
    for (const Bounds& bounds : kBounds) {
      if (auto done = check_bounds(bounds); !done) return done;
    }
    for (std::string_view kind : {"consumer", "share", "streams"}) {
      if (auto done = check_heartbeat(kind); !done) return done;
    }
    return check_names();
  }

 private:
  const ConfigValue* value(std::string_view name) const {
    auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

  Outcome check_bounds(const Bounds& bounds) const {
    const ConfigValue* given = value(bounds.key);
    if (given == nullptr) return {};
    int64_t number = given->number;
    bool low = !bounds.least.empty() && number < broker_value(broker_, bounds.least).number;
    bool high = !bounds.most.empty() && number > broker_value(broker_, bounds.most).number;
    if (!low && !high) return {};
    std::string_view bound = low ? bounds.least : bounds.most;
    return fail(fmt::format("{}={}: must be at {} {}={}", bounds.key, number, low ? "least" : "most", bound,
                            broker_value(broker_, bound).number));
  }

  Outcome check_heartbeat(std::string_view kind) const {
    std::string heartbeat = fmt::format("{}.heartbeat.interval.ms", kind);
    std::string session = fmt::format("{}.session.timeout.ms", kind);
    if (value(heartbeat) == nullptr && value(session) == nullptr) return {};
    auto number = [&](const std::string& name) {
      const ConfigValue* given = value(name);
      return given != nullptr ? given->number : broker_value(broker_, "group." + name).number;
    };
    if (number(heartbeat) < number(session)) return {};
    return fail(fmt::format("{}={} must be below {}={}", heartbeat, number(heartbeat), session,
                            number(session)));
  }

  Outcome check_names() const {
    if (const ConfigValue* topic = value("errors.deadletterqueue.topic.name")) {
      if (topic->text.starts_with("__")) {
        return fail(fmt::format("errors.deadletterqueue.topic.name={}: must not begin with __", topic->text));
      }
    }
    if (const ConfigValue* assignor = value("streams.assignor.name")) {
      std::vector<std::string> known = broker_value(broker_, "group.streams.assignors").list;
      if (std::ranges::count(known, assignor->text) == 0) {
        return fail(fmt::format("streams.assignor.name={}: must be one of group.streams.assignors: {}",
                                assignor->text, fmt::join(known, ", ")));
      }
    }
    return {};
  }

  const BrokerConfig& broker_;
  const ConfigTexts& config_;
  std::map<std::string_view, ConfigValue> values_;
};

}  // namespace

std::span<const GroupKey> group_keys() { return kKeys; }

const GroupKey* find_group_key(std::string_view name) {
  auto found = std::ranges::lower_bound(kKeys, name, {}, &GroupKey::name);
  return found != std::end(kKeys) && found->name == name ? found : nullptr;
}

Result<void, std::string> check_group_config(const BrokerConfig& broker, const ConfigTexts& config) {
  return Checker(broker, config).check();
}

}  // namespace pelton::broker
