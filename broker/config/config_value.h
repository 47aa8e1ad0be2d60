// One configuration value, parsed and checked by its key's type and range.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace pelton::broker {

// Kafka's ConfigType codes, as DescribeConfigs carries them.
enum class ConfigType : int8_t {
  kUnknown = 0, kBoolean = 1, kString = 2, kInt = 3, kShort = 4, kLong = 5, kDouble = 6, kList = 7,
  kClass = 8, kPassword = 9,
};

struct ConfigValue {
  std::string text;  // as given, without blanks around it
  int64_t number = 0;
  double real = 0;
  bool flag = false;
  std::vector<std::string> list;  // each element once, unless the rule has a `check`
};

// What a value may be. Numbers: min to max. Texts and list elements: one of `allowed` (comma separated;
// empty = anything). `check` looks further; `form` then says what it wants.
struct ValueRule {
  ConfigType type = ConfigType::kString;
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  std::string_view allowed = {};
  bool any_case = false;   // `allowed` in any case
  bool not_empty = false;  // texts and lists
  std::string_view form = {};
  bool (*check)(const ConfigValue& value) = nullptr;
};

// The error is the end of a sentence: "not a whole number", "must be at least 1".
Result<ConfigValue, std::string> parse_value(const ValueRule& rule, std::string_view text);

// The value in Apache Kafka's own spelling: "1" for "+1", "true" for "TRUE", "0.5" for "5e-1".
std::string normal_text(ConfigType type, const ConfigValue& value);

// Elements of a comma separated list, without blanks around them; none for blank text.
std::vector<std::string> split_list(std::string_view text);

}  // namespace pelton::broker
