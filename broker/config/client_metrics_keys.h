// Client metrics subscriptions: which metrics clients are asked to push. The subscriptions are kept and
// told; nothing collects metrics of clients yet.
#pragma once

#include <span>
#include <string_view>

#include "broker/config/config_fault.h"
#include "broker/config/config_key.h"
#include "broker/config/config_layers.h"

namespace pelton::broker {

// Sorted by name.
std::span<const ConfigKey> client_metrics_keys();
const ConfigKey* find_client_metrics_key(std::string_view name);

// With Apache Kafka's error codes: INVALID_REQUEST for an unknown key and for bounds, else INVALID_CONFIG.
ConfigFault check_client_metrics(const ConfigTexts& config);

}  // namespace pelton::broker
