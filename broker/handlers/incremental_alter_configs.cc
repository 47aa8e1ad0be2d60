// IncrementalAlterConfigs: sets, deletes, appends and subtracts values of single keys.

#include "proto/messages/incremental_alter_configs.h"

#include "broker/catalog/config_request.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {

void handle_incremental_alter_configs(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<proto::IncrementalAlterConfigsRequest>();
  if (asked == nullptr) return;
  ConfigRequest& state = request.make_state<ConfigRequest>();
  state.validate_only = asked->validate_only;
  state.respond = respond_outcomes<proto::IncrementalAlterConfigsResponse>;
  for (const auto& resource : asked->resources) {
    ConfigChange& change = state.changes.emplace_back();
    change.type = resource.resource_type;
    change.name = resource.resource_name;
    for (const auto& config : resource.configs) {
      change.alterations.push_back(
          {.name = config.name, .operation = config.config_operation, .value = config.value});
    }
  }
  change_configs(here, request, state);
}

}  // namespace pelton::broker
