// ConfigRequest: a request that changes the configuration of several resources: the common part of
// IncrementalAlterConfigs and AlterConfigs.
#pragma once

#include <vector>

#include "broker/catalog/config_changes.h"
#include "broker/config/config_fault.h"
#include "broker/request.h"

namespace pelton::broker {

// State of the request; made on its home shard.
struct ConfigRequest {
  std::vector<ConfigChange> changes;
  std::vector<ConfigFault> outcomes;  // one for each change, in order
  bool validate_only = false;
  void (*respond)(Request& request, const ConfigRequest& asked) = nullptr;
};

// Changes loggers at once, the rest through the catalog's writer, then calls `respond`. `asked` is state of
// the request, its changes and `respond` filled in.
void change_configs(BrokerShard& here, Request& request, ConfigRequest& asked);

// The answer of either request.
template <class Response>
void respond_outcomes(Request& request, const ConfigRequest& asked) {
  std::vector<typename Response::AlterConfigsResourceResponse> answers;
  for (size_t i = 0; i < asked.changes.size(); ++i) {
    const ConfigFault& outcome = asked.outcomes[i];
    auto& answer = answers.emplace_back();
    answer.error_code = static_cast<int16_t>(outcome.error);
    answer.error_message = std::nullopt;
    if (outcome.error != proto::ErrorCode::kNone) answer.error_message = outcome.why;
    answer.resource_type = asked.changes[i].type;
    answer.resource_name = asked.changes[i].name;
  }
  Response response;
  response.responses = answers;
  request.respond(response);
}

}  // namespace pelton::broker
