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

}  // namespace pelton::broker
