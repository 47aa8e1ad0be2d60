// Parsing of listeners, advertised.listeners and listener.security.protocol.map.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"
#include "reactor/base/result.h"

namespace pelton::broker {

struct Endpoint {
  std::string name;  // upper case
  std::string host;  // empty: every address
  uint16_t port = 0;
};

// "NAME://host:port,..."; IPv6 hosts stand in brackets. The error is the end of a sentence.
Result<std::vector<Endpoint>, std::string> parse_endpoints(std::string_view text);

// "NAME:PROTOCOL,...".
Result<std::map<std::string, std::string>, std::string> parse_protocol_map(std::string_view text);

// "address:port", "localhost:port" or ":port" (every address). The error is the end of a sentence.
Result<SocketAddress, std::string> parse_bind_address(std::string_view text);

struct ListenerTexts {
  std::string listeners;
  std::string advertised;  // empty: not set
  std::string protocol_map;
  bool protocol_map_given = false;
  std::string controller_names;
};

struct Listeners {
  std::vector<ListenerConfig> of_clients;
  std::vector<ListenerConfig> of_controllers;
};

// All listeners, with their advertised addresses. The error is one sentence that names the key. `notices`:
// sentences about addresses that clients will probably not reach.
Result<Listeners, std::string> make_listeners(const ListenerTexts& texts, std::vector<std::string>& notices);

}  // namespace pelton::broker
