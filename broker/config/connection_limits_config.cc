#include "broker/config/connection_limits_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "broker/config/config_value.h"
#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

constexpr std::string_view kMaxConnections = "max.connections";
constexpr std::string_view kCreationRate = "max.connection.creation.rate";

std::unexpected<std::string> fail(std::string why) { return std::unexpected(std::move(why)); }

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-._:%").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// In the kernel's spelling: "::1" for "0:0::1".
std::string normal_address(std::string_view host) {
  if (host == "localhost") return "127.0.0.1";
  std::string text(host);
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  std::array<char, INET6_ADDRSTRLEN> normal;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1 &&
      inet_ntop(AF_INET6, bytes.data(), normal.data(), normal.size()) != nullptr) {
    return std::string(plain_address(normal.data()));
  }
  return text;
}

const std::string* text_for(const ConfigLayers& layers, std::string_view listener, std::string_view key) {
  std::string name = fmt::format("listener.name.{}.{}", listener, key);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return text_of(layers, name);
}

int32_t number_for(const ConfigLayers& layers, std::string_view listener, std::string_view key,
                   int32_t otherwise) {
  const std::string* text = text_for(layers, listener, key);
  if (text == nullptr) return otherwise;
  auto value = parse_value(find_broker_key(key)->rule, *text);
  return value ? static_cast<int32_t>(value->number) : otherwise;
}

}  // namespace

Result<AddressLimits, std::string> parse_address_limits(std::string_view text) {
  AddressLimits limits;
  for (std::string_view element : split_list(text)) {
    size_t colon = element.rfind(':');
    std::string_view host = element.substr(0, std::min(colon, element.size()));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    std::string_view digits = colon == std::string_view::npos ? std::string_view() : element.substr(colon + 1);
    int32_t count = -1;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (!is_host(host) || digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
        count < 0) {
      return fail(fmt::format("\"{}\" is not address:count", element));
    }
    limits[normal_address(host)] = count;
  }
  return limits;
}

std::string_view plain_address(std::string_view host) {
  constexpr std::string_view kMapped = "::ffff:";
  bool mapped = host.starts_with(kMapped) && host.find('.') != std::string_view::npos;
  return mapped ? host.substr(kMapped.size()) : host;
}

bool is_numeric_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool is_listener_limit_key(std::string_view key) { return key == kMaxConnections || key == kCreationRate; }

ListenerLimits listener_limits(const ConfigLayers& layers, std::string_view listener,
                               const ListenerLimits& all) {
  return {.max_connections = number_for(layers, listener, kMaxConnections, all.max_connections),
          .creation_rate = number_for(layers, listener, kCreationRate, all.creation_rate)};
}

bool has_listener_limits(const ConfigLayers& layers, std::string_view listener) {
  return text_for(layers, listener, kMaxConnections) != nullptr ||
         text_for(layers, listener, kCreationRate) != nullptr;
}

}  // namespace pelton::broker
