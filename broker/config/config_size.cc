#include "broker/config/config_size.h"

#include <fmt/format.h>

namespace pelton::broker {
namespace {

size_t bytes_of(const ConfigTexts& texts) {
  size_t bytes = 0;
  for (const auto& [name, text] : texts) bytes += name.size() + text.size();
  return bytes;
}

}  // namespace

std::string check_config_size(const ConfigTexts& before, const ConfigTexts& after) {
  for (const auto& [name, text] : after) {
    if (text.size() <= kMaxConfigValueBytes) continue;
    auto earlier = before.find(name);
    if (earlier != before.end() && earlier->second.size() >= text.size()) continue;
    return fmt::format("{}: a value has at most {} bytes, not {}", name, kMaxConfigValueBytes, text.size());
  }
  size_t bytes = bytes_of(after);
  if (bytes <= kMaxConfigBytes || bytes <= bytes_of(before)) return {};
  return fmt::format("keys and values of a resource have at most {} bytes together, not {}", kMaxConfigBytes,
                     bytes);
}

}  // namespace pelton::broker
