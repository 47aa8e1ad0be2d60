#include "broker/catalog/config_request.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/catalog/request_change.h"
#include "broker/config/keys.h"
#include "broker/config/loggers.h"
#include "broker/handlers/authorized_operations.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using enum ConfigResourceType;

// They are planned in one turn. As many records Apache Kafka's controller makes for one request at most.
constexpr size_t kMaxChangesPerRequest = 10'000;
// What the changes of one request say, and what their resources set before: all of it is parsed.
constexpr size_t kMaxBytesPerRequest = size_t{2} << 20;

ConfigFault check_allowed(const Request& request, const ConfigChange& change) {
  switch (static_cast<ConfigResourceType>(change.type)) {
    case kTopic:
      if (authorize(request, Operation::kAlterConfigs, ResourceType::kTopic, change.name)) return {};
      return {ErrorCode::kTopicAuthorizationFailed, "not allowed to alter the topic's configuration"};
    case kGroup:
      if (authorize(request, Operation::kAlterConfigs, ResourceType::kGroup, change.name)) return {};
      return {ErrorCode::kGroupAuthorizationFailed, "not allowed to alter the group's configuration"};
    case kBroker:
    case kBrokerLogger:
    case kClientMetrics:
      if (authorize(request, Operation::kAlterConfigs, ResourceType::kCluster, kClusterResource)) return {};
      return {ErrorCode::kClusterAuthorizationFailed, "not allowed to alter the cluster's configuration"};
  }
  return {ErrorCode::kInvalidRequest, fmt::format("resources of type {} have no configuration", change.type)};
}

ConfigFault change_loggers(const BrokerShard& here, const ConfigChange& change, bool validate_only) {
  if (change.replaces) return {ErrorCode::kInvalidRequest, "levels of loggers are altered incrementally"};
  ConfigFault named = check_broker_name(change.name, here.config.node_id, false);
  if (named.error != ErrorCode::kNone) return named;
  for (const ConfigAlteration& alteration : change.alterations) {
    ConfigFault fault = check_logger_change(alteration.name, alteration.operation, alteration.value);
    if (fault.error != ErrorCode::kNone) return fault;
  }
  if (validate_only) return {};
  for (const ConfigAlteration& alteration : change.alterations) change_logger(*alteration.value);
  return {};
}

// What can be said, or done, without the catalog. Returns whether something is left for it.
bool preprocess(const BrokerShard& here, const Request& request, ConfigRequest& asked) {
  std::map<std::pair<int8_t, std::string_view>, int> times;
  for (const ConfigChange& change : asked.changes) ++times[{change.type, change.name}];
  bool left = false;
  for (size_t i = 0; i < asked.changes.size(); ++i) {
    const ConfigChange& change = asked.changes[i];
    ConfigFault& outcome = asked.outcomes[i];
    if (times[{change.type, change.name}] > 1) {
      outcome = {ErrorCode::kInvalidRequest, "the resource is named twice"};
      continue;
    }
    outcome = check_allowed(request, change);
    if (outcome.error == ErrorCode::kNone) outcome = check_alterations(change);
    if (outcome.error != ErrorCode::kNone) continue;
    if (static_cast<ConfigResourceType>(change.type) == kBrokerLogger) {
      outcome = change_loggers(here, change, asked.validate_only);
    } else {
      left = true;
    }
  }
  return left;
}

// One notice for a change of broker's keys that do nothing here.
void tell_idle(RepeatedNotice& notice, const ConfigChange& change) {
  if (static_cast<ConfigResourceType>(change.type) != kBroker) return;
  const BrokerKey* first = nullptr;
  size_t count = 0;
  for (const ConfigAlteration& alteration : change.alterations) {
    const BrokerKey* key = find_broker_key(without_listener(alteration.name));
    if (key == nullptr || key->acts()) continue;
    if (count++ == 0) first = key;
  }
  if (count == 1) notice.tell("{} is kept. {}", first->name, first->text());
  if (count > 1) notice.tell("{} and {} more are kept. {}", first->name, count - 1, first->text());
}

size_t bytes_to_plan(const CatalogReplay& state, const ConfigChange& change) {
  size_t bytes = 0;
  for (const ConfigAlteration& alteration : change.alterations) {
    bytes += alteration.name.size() + alteration.value.value_or("").size();
  }
  auto type = static_cast<ConfigResourceType>(change.type);
  for (const auto& [name, text] : state.config(type, std::string(change.name))) bytes += name.size() + text.size();
  return bytes;
}

class AlterConfigs final : public RequestChange {
 public:
  AlterConfigs(BrokerShard& here, Request& request)
      : RequestChange(here, request), asked_(*static_cast<ConfigRequest*>(request.state)) {}

  void plan(const CatalogReplay& state, MetadataRecords& records) override {
    size_t bytes = 0;
    for (size_t i = 0; i < asked_.changes.size(); ++i) {
      const ConfigChange& change = asked_.changes[i];
      bool done = asked_.outcomes[i].error != ErrorCode::kNone ||
                  static_cast<ConfigResourceType>(change.type) == kBrokerLogger;
      if (done) continue;
      bytes += bytes_to_plan(state, change);
      if (bytes > kMaxBytesPerRequest) {
        asked_.outcomes[i] = {ErrorCode::kPolicyViolation, "too much configuration for one request"};
        continue;
      }
      asked_.outcomes[i] = plan_config_change(state, change, records);
      bool changes = asked_.outcomes[i].error == ErrorCode::kNone && !asked_.validate_only;
      if (changes) tell_idle(here_.notices.idle_keys, change);
    }
  }

 private:
  void fail_all(ErrorCode error) override {
    for (size_t i = 0; i < asked_.changes.size(); ++i) {
      bool logger = static_cast<ConfigResourceType>(asked_.changes[i].type) == kBrokerLogger;
      ConfigFault& outcome = asked_.outcomes[i];
      if (outcome.error == ErrorCode::kNone && !logger) outcome = {error, std::string(proto::name(error))};
    }
  }
  void respond() override { asked_.respond(request_, asked_); }

  ConfigRequest& asked_;
};

void change(BrokerShard& here, Request& request) {
  bool validate_only = static_cast<ConfigRequest*>(request.state)->validate_only;
  run_change(here, std::make_unique<AlterConfigs>(here, request), validate_only);
}

}  // namespace

void change_configs(BrokerShard& here, Request& request, ConfigRequest& asked) {
  asked.outcomes.resize(asked.changes.size());
  size_t count = asked.changes.size();
  for (const ConfigChange& change : asked.changes) count += change.alterations.size();
  if (count > kMaxChangesPerRequest) {
    ConfigFault too_many{ErrorCode::kPolicyViolation,
                         fmt::format("a request may name at most {} resources and keys together",
                                     kMaxChangesPerRequest)};
    std::ranges::fill(asked.outcomes, too_many);
    return asked.respond(request, asked);
  }
  if (!preprocess(here, request, asked)) return asked.respond(request, asked);
  request.state = &asked;
  request.hop(kCatalogShard, change);
}

}  // namespace pelton::broker
