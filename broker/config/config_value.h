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
  kBoolean = 1, kString = 2, kInt = 3, kShort = 4, kLong = 5, kDouble = 6, kList = 7, kClass = 8,
  kPassword = 9,
};

// What a value may be. Numbers: min to max. Strings and list elements: one of `allowed` (comma
// separated; empty = anything).
struct ValueRule {
  ConfigType type = ConfigType::kString;
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  std::string_view allowed;
};

struct ConfigValue {
  std::string text;  // as given, without blanks around it
  int64_t number = 0;
  double real = 0;
  bool flag = false;
  std::vector<std::string> list;
};

// The error is the end of a sentence: "not a whole number", "must be at least 1".
Result<ConfigValue, std::string> parse_value(const ValueRule& rule, std::string_view text);

// Elements of a comma separated list, without blanks around them; none for blank text.
std::vector<std::string> split_list(std::string_view text);

}  // namespace pelton::broker
