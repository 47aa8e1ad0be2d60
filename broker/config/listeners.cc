#include "broker/config/listeners.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "broker/config/config_value.h"

namespace pelton::broker {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::unexpected<std::string> fail(std::string why) { return std::unexpected(std::move(why)); }

bool is_address(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
}

bool has_host_letters(std::string_view host) {
  return std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

Result<Endpoint, std::string> parse_endpoint(const std::string& text) {
  size_t scheme = text.find("://");
  size_t colon = text.rfind(':');
  if (scheme == std::string::npos || scheme == 0 || colon <= scheme) {
    return fail(fmt::format("\"{}\" is not NAME://host:port", text));
  }
  Endpoint endpoint;
  endpoint.name = upper(std::string_view(text).substr(0, scheme));
  std::string_view host = std::string_view(text).substr(scheme + 3, colon - scheme - 3);
  std::string_view port = std::string_view(text).substr(colon + 1);
  bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!has_host_letters(host)) {
    return fail(fmt::format("\"{}\": the host must be an address, a name or empty", text));
  }
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return fail(fmt::format("\"{}\": an IPv6 address stands in brackets: {}://[{}]:{}", text,
                            endpoint.name, host, port));
  }
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return fail(fmt::format("\"{}\": the port must be a number from 0 to 65535", text));
  }
  endpoint.host = host;
  return endpoint;
}

// Names stay: the process looks them up.
std::string bind_host(const std::string& host) {
  if (host == "::") return {};  // 0.0.0.0 is kept: IPv4 only, as it says
  return host == "localhost" ? "127.0.0.1" : host;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<void, std::string> check_protocol(const std::string& name,
                                         const std::map<std::string, std::string>& protocols) {
  auto found = protocols.find(name);
  if (found == protocols.end()) {
    return fail(fmt::format("listeners: {} has no entry in listener.security.protocol.map", name));
  }
  if (found->second == "PLAINTEXT") return {};
  return fail(fmt::format("listeners: {} uses {}, which is not there yet; only PLAINTEXT is", name,
                          found->second));
}

Result<void, std::string> check_distinct(const std::vector<Endpoint>& endpoints,
                                         std::string_view key, bool addresses) {
  for (size_t i = 0; i < endpoints.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Endpoint &a = endpoints[i], &b = endpoints[j];
      if (a.name == b.name) return fail(fmt::format("{}: {} is there twice", key, a.name));
      if (addresses && a.port != 0 && a.port == b.port && a.host == b.host) {
        return fail(fmt::format("{}: {} and {} have the same address and port", key, b.name, a.name));
      }
    }
  }
  return {};
}

Result<std::vector<Endpoint>, std::string> endpoints_of(std::string_view key, std::string_view text) {
  auto endpoints = parse_endpoints(text);
  if (!endpoints) return fail(fmt::format("{}: {}", key, endpoints.error()));
  return endpoints;
}

std::string text_of(const Endpoint& endpoint) {
  return fmt::format("{}://{}:{}", endpoint.name, endpoint.host, endpoint.port);
}

Result<void, std::string> check_advertised(const Endpoint& endpoint) {
  auto wrong = [&](std::string_view why) {
    return fail(fmt::format("advertised.listeners: {}: {}", text_of(endpoint), why));
  };
  if (endpoint.host == "0.0.0.0" || endpoint.host == "::") {
    return wrong("clients cannot connect to that address; leave advertised.listeners out to advertise what "
                 "the client dialled");
  }
  if (endpoint.port == 0) return wrong("clients cannot connect to port 0");
  return {};
}

// A loopback address for clients that may come from elsewhere is the most frequent mistake of all.
void warn_of_loopback(const ListenerConfig& listener, std::vector<std::string>& notices) {
  if (!is_loopback(listener.advertised_host) || is_loopback(listener.bind.host)) return;
  notices.push_back(fmt::format(
      "advertised.listeners: {}://{}:{}: clients on other machines are told to connect to themselves; "
      "leave advertised.listeners out to advertise what the client dialled",
      listener.name, listener.advertised_host, listener.advertised_port));
}

Result<void, std::string> advertise(Listeners& listeners, const std::vector<Endpoint>& advertised) {
  for (const Endpoint& endpoint : advertised) {
    if (auto sound = check_advertised(endpoint); !sound) return sound;
    bool known = false;
    for (auto* group : {&listeners.of_clients, &listeners.of_controllers}) {
      auto found = std::ranges::find(*group, endpoint.name, &ListenerConfig::name);
      if (found == group->end()) continue;
      known = true;
      found->advertised_host = endpoint.host;
      found->advertised_port = endpoint.port;
    }
    if (!known) {
      return fail(fmt::format("advertised.listeners: {} is not among the listeners", endpoint.name));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Endpoint>, std::string> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  for (const std::string& part : split_list(text)) {
    auto endpoint = parse_endpoint(part);
    if (!endpoint) return fail(endpoint.error());
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

Result<SocketAddress, std::string> parse_bind_address(std::string_view text) {
  auto endpoint = parse_endpoint(fmt::format("HTTP://{}", text));
  if (!endpoint) return fail("address:port is expected, for example 127.0.0.1:9404 or [::1]:9404");
  std::string host = endpoint->host == "localhost" ? "127.0.0.1" : endpoint->host;
  if (host == "::") host.clear();
  if (!host.empty() && !is_address(host)) {
    return fail(fmt::format("{} is not an IP address, localhost or empty (every address)", host));
  }
  return SocketAddress{.host = host, .port = endpoint->port};
}

Result<std::map<std::string, std::string>, std::string> parse_protocol_map(std::string_view text) {
  std::map<std::string, std::string> protocols;
  for (const std::string& part : split_list(text)) {
    size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return fail(fmt::format("listener.security.protocol.map: \"{}\" is not NAME:PROTOCOL", part));
    }
    std::string protocol = upper(std::string_view(part).substr(colon + 1));
    if (protocol != "PLAINTEXT" && protocol != "SSL" && protocol != "SASL_PLAINTEXT" &&
        protocol != "SASL_SSL") {
      return fail(fmt::format("listener.security.protocol.map: {}: no such protocol", protocol));
    }
    protocols[upper(std::string_view(part).substr(0, colon))] = protocol;
  }
  return protocols;
}

Result<Listeners, std::string> make_listeners(const ListenerTexts& texts,
                                              std::vector<std::string>& notices) {
  auto endpoints = endpoints_of("listeners", texts.listeners);
  if (!endpoints) return fail(endpoints.error());
  auto advertised = endpoints_of("advertised.listeners", texts.advertised);
  if (!advertised) return fail(advertised.error());
  auto protocols = parse_protocol_map(texts.protocol_map);
  if (!protocols) return fail(protocols.error());
  if (auto sound = check_distinct(*endpoints, "listeners", true); !sound) return fail(sound.error());
  if (auto sound = check_distinct(*advertised, "advertised.listeners", false); !sound) {
    return fail(sound.error());
  }
  std::vector<std::string> controllers;
  for (const std::string& name : split_list(texts.controller_names)) controllers.push_back(upper(name));

  Listeners listeners;
  for (const Endpoint& endpoint : *endpoints) {
    bool controller = std::ranges::count(controllers, endpoint.name) > 0;
    // As Apache Kafka: a controller's listener is PLAINTEXT where nobody says anything of protocols.
    if (controller && !texts.protocol_map_given) protocols->try_emplace(endpoint.name, "PLAINTEXT");
    if (auto sound = check_protocol(endpoint.name, *protocols); !sound) return fail(sound.error());
    auto& group = controller ? listeners.of_controllers : listeners.of_clients;
    group.push_back({.name = endpoint.name, .bind = {bind_host(endpoint.host), endpoint.port}});
  }
  if (listeners.of_clients.empty()) return fail("listeners: there is no listener for clients");
  if (auto done = advertise(listeners, *advertised); !done) return fail(done.error());
  for (const ListenerConfig& listener : listeners.of_clients) warn_of_loopback(listener, notices);
  return listeners;
}

}  // namespace pelton::broker
