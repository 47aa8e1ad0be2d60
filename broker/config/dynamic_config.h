// Dynamic configuration of the broker: what may change while it runs, and the configuration that results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"

namespace pelton::broker {

// `from_files` with the persisted dynamic values over it: of all brokers (`defaults`), then of this one.
// Values that are unsound or cannot be changed at run time (a directory may hold anything) are left out, a
// sentence for each goes to `left_out`.
BrokerConfig with_dynamic(const BrokerConfig& from_files, const ConfigTexts& defaults,
                          const ConfigTexts& of_this_broker, std::vector<std::string>* left_out = nullptr);

// Whether `texts` may become the dynamic values of this broker (per_broker) or of all. `now` is in force. The
// error is one sentence.
Result<void, std::string> check_dynamic(const BrokerConfig& now, const ConfigTexts& texts, bool per_broker);

}  // namespace pelton::broker
