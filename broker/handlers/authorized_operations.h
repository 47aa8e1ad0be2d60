// The bit sets that tell a client what it may do with a resource.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/authorize.h"

namespace pelton::broker {

inline constexpr std::string_view kClusterResource = "kafka-cluster";

// Bit n is set when operation n is one that the resource knows and the principal may do it.
int32_t authorized_operations(const Request& request, ResourceType type, std::string_view name);

}  // namespace pelton::broker
