// How a group's records and descriptions name a member's host: as Java prints an address,
// "/127.0.0.1".
#pragma once

#include <string_view>

#include "broker/request.h"

namespace pelton::broker::group {

// In the request's arena.
std::string_view client_host(Request& request);

}  // namespace pelton::broker::group
