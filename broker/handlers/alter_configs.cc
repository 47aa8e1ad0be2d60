// AlterConfigs: the whole configuration of resources; what a request does not name is deleted.

#include "proto/messages/alter_configs.h"

#include <vector>

#include "broker/catalog/config_request.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::AlterConfigsRequest;
using proto::AlterConfigsResponse;
using proto::ErrorCode;
using Answer = AlterConfigsResponse::AlterConfigsResourceResponse;

void respond(Request& request, const ConfigRequest& asked) {
  std::vector<Answer> answers;
  for (size_t i = 0; i < asked.changes.size(); ++i) {
    const ConfigFault& outcome = asked.outcomes[i];
    Answer answer;
    answer.error_code = static_cast<int16_t>(outcome.error);
    answer.error_message = std::nullopt;
    if (outcome.error != ErrorCode::kNone) answer.error_message = outcome.why;
    answer.resource_type = asked.changes[i].type;
    answer.resource_name = asked.changes[i].name;
    answers.push_back(answer);
  }
  AlterConfigsResponse response;
  response.responses = answers;
  request.respond(response);
}

}  // namespace

void handle_alter_configs(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<AlterConfigsRequest>();
  if (asked == nullptr) return;
  ConfigRequest& state = request.make_state<ConfigRequest>();
  state.validate_only = asked->validate_only;
  state.respond = respond;
  for (const auto& resource : asked->resources) {
    ConfigChange& change = state.changes.emplace_back();
    change.type = resource.resource_type;
    change.name = resource.resource_name;
    change.replaces = true;
    for (const auto& config : resource.configs) {
      change.alterations.push_back({.name = config.name, .value = config.value});
    }
  }
  change_configs(here, request, state);
}

}  // namespace pelton::broker
