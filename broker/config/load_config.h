// Loading the broker's configuration: override > environment > file > default, checked as a whole.
#pragma once

#include <string>
#include <vector>

#include "broker/config/broker_config.h"
#include "reactor/base/result.h"

namespace pelton::broker {

struct ConfigSources {
  std::string file_name;                 // for messages; as the user gave it
  std::string file_text;                 // empty when there is no file
  std::vector<std::string> environment;  // "NAME=value" of the whole environment
  std::vector<std::string> overrides;    // "key=value", in order
};

// Errors: every one that was found, one sentence each. `notices` are sentences for the log: keys that are
// accepted and do nothing, values that were clamped, keys that are unknown.
Result<BrokerConfig, std::vector<std::string>> load_config(const ConfigSources& sources,
                                                           std::vector<std::string>& notices);

}  // namespace pelton::broker
