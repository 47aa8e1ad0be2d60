// What connections are held to: max.connections and its kin, for the broker, for its listeners, for addresses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "broker/config/config_layers.h"
#include "reactor/base/result.h"

namespace pelton::broker {

// By address, as an accepted socket shows it, or by a host name that nobody has looked up yet.
using AddressLimits = std::map<std::string, int32_t, std::less<>>;

struct ListenerLimits {
  int32_t max_connections = INT32_MAX;
  int32_t creation_rate = INT32_MAX;  // a second
  friend bool operator==(const ListenerLimits&, const ListenerLimits&) = default;
};

struct ConnectionLimitsConfig {
  ListenerLimits all;                                          // max.connections, max.connection.creation.rate
  std::map<std::string, ListenerLimits, std::less<>> of_listeners;  // those with their own, by name
  int32_t max_per_address = INT32_MAX;                         // max.connections.per.ip
  AddressLimits of_addresses;                                  // max.connections.per.ip.overrides
  // A rate is counted over so many windows of so long.
  int32_t window_num = 11;                                     // quota.window.num
  int32_t window_seconds = 1;                                  // quota.window.size.seconds
  friend bool operator==(const ConnectionLimitsConfig&, const ConnectionLimitsConfig&) = default;
};

// "address:count,..."; IPv6 addresses with or without brackets, "localhost", host names. The error is the end of
// a sentence.
Result<AddressLimits, std::string> parse_address_limits(std::string_view text);

// The address as an accepted socket shows it: an IPv4 one that came in by IPv6 is that IPv4 address.
std::string_view plain_address(std::string_view host);
bool is_numeric_address(const std::string& host);

// Keys of which a listener can have its own: listener.name.<listener>.<key>.
bool is_listener_limit_key(std::string_view key);
// What the strongest layers say for that listener; nothing said: of `all`.
ListenerLimits listener_limits(const ConfigLayers& layers, std::string_view listener,
                               const ListenerLimits& all);
// Whether any layer says something for the listener.
bool has_listener_limits(const ConfigLayers& layers, std::string_view listener);

}  // namespace pelton::broker
