#include "broker/config/client_metrics_keys.h"

#include <algorithm>

#include <fmt/format.h>

namespace pelton::broker {
namespace {

using namespace key_words;
using proto::ErrorCode;

constexpr ConfigKey kKeys[] = {
    {"interval.ms", any(kInt), "300000", kMedium, kMetrics, false, {}},
    {"match", any(kList), "", kMedium, kMetrics, false, {}},
    {"metrics", any(kList), "", kMedium, kMetrics, false, {}},
};

constexpr std::string_view kMatchNames[] = {
    "client_id",           "client_instance_id",    "client_software_name",
    "client_software_version", "client_source_address", "client_source_port"};

constexpr int64_t kShortestInterval = 100, kLongestInterval = 3'600'000;

// Whether brackets and groups of a regular expression close and nothing is repeated that is not there; not
// more, as no client is matched yet.
bool is_pattern(std::string_view text) {
  int groups = 0;
  bool repeatable = false;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '\\':
        if (++i == text.size()) return false;
        repeatable = true;
        break;
      case '[':
        i = text.find(']', i + (text.substr(i).starts_with("[^") ? 3 : 2));
        if (i == std::string_view::npos) return false;
        repeatable = true;
        break;
      case '(': ++groups, repeatable = false; break;
      case ')':
        if (--groups < 0) return false;
        repeatable = true;
        break;
      case '*':
      case '+':
      case '?':
        if (!repeatable && !(i > 0 && text[i - 1] == '(')) return false;
        break;
      case '|': repeatable = false; break;
      default: repeatable = true;
    }
  }
  return groups == 0;
}

bool is_match(std::string_view element) {
  size_t equals = element.find('=');
  if (equals == std::string_view::npos) return false;
  return std::ranges::count(kMatchNames, element.substr(0, equals)) > 0 &&
         is_pattern(element.substr(equals + 1));
}

ConfigFault check_one(const ConfigKey& key, const ConfigValue& value) {
  if (key.name == "interval.ms" &&
      (value.number < kShortestInterval || value.number > kLongestInterval)) {
    return {ErrorCode::kInvalidRequest, fmt::format("interval.ms={}: must be {} to {}", value.number,
                                                    kShortestInterval, kLongestInterval)};
  }
  if (key.name == "match") {
    auto wrong = std::ranges::find_if_not(value.list, is_match);
    if (wrong != value.list.end()) {
      return {ErrorCode::kInvalidConfig,
              fmt::format("match={}: must be a list of name=pattern; names: {}", *wrong,
                          fmt::join(kMatchNames, ", "))};
    }
  }
  return {};
}

}  // namespace

std::span<const ConfigKey> client_metrics_keys() { return kKeys; }

const ConfigKey* find_client_metrics_key(std::string_view name) {
  auto found = std::ranges::find(kKeys, name, &ConfigKey::name);
  return found == std::end(kKeys) ? nullptr : found;
}

ConfigFault check_client_metrics(const ConfigTexts& config) {
  for (const auto& [name, text] : config) {
    const ConfigKey* key = find_client_metrics_key(name);
    if (key == nullptr) {
      return {ErrorCode::kInvalidRequest, fmt::format("unknown client metrics configuration: {}", name)};
    }
    auto value = parse_value(key->rule, text);
    if (!value) {
      return {ErrorCode::kInvalidConfig, fmt::format("{}={}: {}", name, text, value.error())};
    }
    if (ConfigFault fault = check_one(*key, *value); fault.error != ErrorCode::kNone) return fault;
  }
  return {};
}

}  // namespace pelton::broker
