#include "broker/config/broker_values.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

// `lower` must not be above `upper`; strict: must be below it.
struct Order {
  std::string_view lower;
  std::string_view upper;
  bool strict = false;
};

constexpr Order kOrders[] = {
    {"group.min.session.timeout.ms", "group.max.session.timeout.ms"},
    {"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    {"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
    {"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    {"group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    {"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
    {"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    {"group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms", true},
    {"group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
    {"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
    {"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
    {"group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
    {"group.share.min.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"},
    {"group.share.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
    {"group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"group.share.min.session.timeout.ms", "group.share.session.timeout.ms"},
    {"group.share.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"group.share.heartbeat.interval.ms", "group.share.session.timeout.ms", true},
    {"group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
    {"group.share.min.assignment.interval.ms", "group.share.assignment.interval.ms"},
    {"group.share.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
    {"group.share.min.record.lock.duration.ms", "group.share.record.lock.duration.ms"},
    {"group.share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
    {"group.share.min.delivery.count.limit", "group.share.delivery.count.limit"},
    {"group.share.delivery.count.limit", "group.share.max.delivery.count.limit"},
    {"group.share.min.partition.max.record.locks", "group.share.partition.max.record.locks"},
    {"group.share.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
    {"group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
    {"group.streams.min.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"},
    {"group.streams.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
    {"group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
    {"group.streams.min.session.timeout.ms", "group.streams.session.timeout.ms"},
    {"group.streams.session.timeout.ms", "group.streams.max.session.timeout.ms"},
    {"group.streams.heartbeat.interval.ms", "group.streams.session.timeout.ms", true},
    {"group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
    {"group.streams.min.assignment.interval.ms", "group.streams.assignment.interval.ms"},
    {"group.streams.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
    {"group.streams.num.standby.replicas", "group.streams.max.standby.replicas"},
    {"group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"},
    {"group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"},
    {"replica.fetch.wait.max.ms", "replica.socket.timeout.ms"},
    {"replica.fetch.wait.max.ms", "replica.lag.time.max.ms"},
};

class Checker {
 public:
  explicit Checker(const BrokerValues& values) : values_(values) {}

  std::vector<KeyProblem> check() {
    for (const Order& order : kOrders) check_order(order);
    check_log_times();
    if (number("queued.max.request.bytes") > 0) {
      check_order({"socket.request.max.bytes", "queued.max.request.bytes"});
    }
    if (number("connections.max.idle.ms") >= 0) {
      check_order({"connection.failed.authentication.delay.ms", "connections.max.idle.ms", true});
    }
    // Apache Kafka takes these, and keeps a dynamic one over restarts with no way in to change it.
    for (std::string_view key : {"max.connections", "max.connection.creation.rate"}) {
      if (number(key) == 0) fail(key, fmt::format("{}=0 would let nobody in", key));
    }
    if (number("max.connections.per.ip") == 0 && text("max.connections.per.ip.overrides").empty()) {
      fail("max.connections.per.ip", "max.connections.per.ip=0 without max.connections.per.ip.overrides "
                                     "would let nobody in");
    }
    if (auto limits = parse_address_limits(text("max.connections.per.ip.overrides")); !limits) {
      fail("max.connections.per.ip.overrides", "max.connections.per.ip.overrides: " + limits.error());
    }
    check_cleaner();
    return std::move(problems_);
  }

 private:
  const ConfigValue* value(std::string_view key) const {
    auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  ConfigValue or_default(std::string_view key) const {
    if (const ConfigValue* given = value(key)) return *given;
    const BrokerKey* known = find_broker_key(key);
    auto parsed = parse_value(known->rule, known->default_value.value_or("0"));
    return parsed ? *parsed : ConfigValue{};
  }
  int64_t number(std::string_view key) const { return or_default(key).number; }
  std::string text(std::string_view key) const { return or_default(key).text; }

  void fail(std::string_view key, std::string why) { problems_.push_back({key, std::move(why)}); }

  // `form` with the two keys, each as key=value.
  void blame(const Order& keys, std::string_view form) {
    std::string_view key = value(keys.lower) != nullptr ? keys.lower : keys.upper;
    if (value(key) == nullptr) return;  // defaults
    std::string lower = fmt::format("{}={}", keys.lower, number(keys.lower));
    std::string upper = fmt::format("{}={}", keys.upper, number(keys.upper));
    fail(key, fmt::format(fmt::runtime(form), lower, upper));
  }

  void check_order(const Order& order) {
    int64_t lower = number(order.lower), upper = number(order.upper);
    if (order.strict && lower >= upper) {
      blame(order, "{0} must be below {1}");
    } else if (lower > upper) {
      blame(order, "{0} must not be above {1}");
    }
  }

  void check_at_least(std::string_view key, int64_t least, std::string_view form) {
    const ConfigValue* given = value(key);
    if (given != nullptr && given->number < least) {
      fail(key, fmt::format("{}={}: {}", key, given->text, form));
    }
  }

  void check_log_times() {
    for (std::string_view key : {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
      const ConfigValue* given = value(key);
      if (given != nullptr && given->number == 0) {
        fail(key, fmt::format("{}=0: must be -1 (no limit) or at least 1", key));
      }
    }
    check_at_least("log.roll.ms", 1, "must be at least 1");
    check_at_least("log.roll.jitter.ms", 0, "must be at least 0");
  }

  void check_cleaner() {
    constexpr int64_t kLeastPerThread = 1 << 20;
    int64_t threads = number("log.cleaner.threads"), buffer = number("log.cleaner.dedupe.buffer.size");
    if (threads > 0 && buffer / threads <= kLeastPerThread) {
      blame({"log.cleaner.dedupe.buffer.size", "log.cleaner.threads"},
            "{0} must be more than 1 MiB for each of {1}");
    }
  }

  const BrokerValues& values_;
  std::vector<KeyProblem> problems_;
};

}  // namespace

void set_values(const BrokerValues& values, BrokerConfig& config) {
  for (const auto& [name, value] : values) {
    const BrokerKey* key = find_broker_key(name);
    if (key->set == nullptr) continue;
    // A weaker spelling is passed over where a stronger one is given.
    std::vector<std::string_view> spellings = spellings_of(name);
    if (name == "log.flush.scheduler.interval.ms") spellings = spellings_of("log.flush.interval.ms");
    auto strongest = std::ranges::find_if(spellings, [&](auto one) { return values.contains(one); });
    if (strongest == spellings.end() || *strongest == name) key->set(config, value);
  }
}

void set_listener_limits(BrokerConfig& config) {
  ConnectionLimitsConfig& limits = config.connection_limits;
  limits.of_listeners.clear();
  for (const auto* group : {&config.listeners, &config.controller_listeners}) {
    for (const ListenerConfig& listener : *group) {
      if (!has_listener_limits(config.layers, listener.name)) continue;
      limits.of_listeners[listener.name] = listener_limits(config.layers, listener.name, limits.all);
    }
  }
}

std::vector<KeyProblem> check_between_keys(const BrokerValues& values) {
  return Checker(values).check();
}

}  // namespace pelton::broker
