// ConfigKey: what is known of one configuration key, whatever kind of resource it belongs to; and the
// words in which the tables of keys are written.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "broker/config/config_value.h"

namespace pelton::broker {

enum class Importance : uint8_t { kHigh, kMedium, kLow };

// What a key does here: it acts, or why it does nothing.
enum class KeyUse : uint8_t {
  kActs,
  kQuorum,
  kThreads,
  kReplication,
  kSecurity,
  kRemote,
  kNewGroups,
  kTransactions,
  kCompaction,
  kMetrics,
  kQuotas,
  kPlugins,
  kOther,
};
inline constexpr KeyUse kLastUse = KeyUse::kOther;

// Why keys of this use do nothing: a clause. Empty for kActs and kOther.
std::string_view idle_reason(KeyUse use);
// The same as DescribeConfigs tells it.
std::string_view idle_documentation(KeyUse use);

struct ConfigKey {
  std::string_view name;
  ValueRule rule;
  std::optional<std::string_view> default_value;  // nullopt: nothing is said
  Importance importance = Importance::kMedium;
  KeyUse use = KeyUse::kActs;
  bool internal = false;  // described only where it is set
  std::string_view documentation;

  bool acts() const { return use == KeyUse::kActs; }
  bool sensitive() const { return rule.type == ConfigType::kPassword; }
  // What DescribeConfigs tells; for keys that do nothing the reason.
  std::string_view text() const { return documentation.empty() ? idle_documentation(use) : documentation; }
};

inline constexpr std::string_view kHidden = "[hidden]";  // stands for values of sensitive keys

// --- words of the tables ---
namespace key_words {

using enum ConfigType;
using enum Importance;
using enum KeyUse;

inline constexpr std::nullopt_t kNull = std::nullopt;
inline constexpr std::string_view kForever = "9223372036854775807";

constexpr ValueRule any(ConfigType type) { return {.type = type}; }
constexpr ValueRule at_least(ConfigType type, double min) { return {.type = type, .min = min}; }
constexpr ValueRule between(ConfigType type, double min, double max) {
  return {.type = type, .min = min, .max = max};
}
constexpr ValueRule one_of(ConfigType type, std::string_view allowed) {
  return {.type = type, .allowed = allowed};
}
constexpr ValueRule any_case_of(std::string_view allowed) {
  return {.type = kString, .allowed = allowed, .any_case = true};
}
// A list with at least one of these.
constexpr ValueRule some_of(std::string_view allowed) {
  return {.type = kList, .allowed = allowed, .not_empty = true};
}
constexpr ValueRule not_empty(ConfigType type) { return {.type = type, .not_empty = true}; }
constexpr ValueRule checked(ConfigType type, std::string_view form,
                            bool (*check)(const ConfigValue& value)) {
  return {.type = type, .form = form, .check = check};
}

inline constexpr std::string_view kGzipLevelForm = "-1 or 1 to 9";
bool check_gzip_level(const ConfigValue& value);
inline constexpr std::string_view kThrottledForm = "* or a list of partition:broker";
bool check_throttled(const ConfigValue& value);
inline constexpr std::string_view kVotersForm = "a list of id@host:port";
bool check_voters(const ConfigValue& value);
inline constexpr std::string_view kServersForm = "a list of host:port";
bool check_servers(const ConfigValue& value);
inline constexpr std::string_view kOffsetResetForm = "earliest, latest or by_duration:<ISO 8601 duration>";
bool check_offset_reset(const ConfigValue& value);

}  // namespace key_words
}  // namespace pelton::broker
