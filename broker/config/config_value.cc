#include "broker/config/config_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

namespace pelton::broker {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

using Outcome = Result<void, std::string>;

Outcome fail(std::string why) { return std::unexpected(std::move(why)); }

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string plain(double number) {
  return std::floor(number) == number ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

Outcome check_range(const ValueRule& rule, double number) {
  if (number < rule.min) return fail("must be at least " + plain(rule.min));
  if (number > rule.max) return fail("must be at most " + plain(rule.max));
  return {};
}

Outcome read_whole(const ValueRule& rule, ConfigValue& value) {
  std::string_view text = value.text;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value.number);
  bool out_of_range = error == std::errc::result_out_of_range;
  if ((error != std::errc() && !out_of_range) || end != text.data() + text.size()) {
    return fail("not a whole number");
  }
  int bits = rule.type == ConfigType::kLong ? 64 : rule.type == ConfigType::kInt ? 32 : 16;
  if (bits < 64) {
    int64_t limit = int64_t{1} << (bits - 1);
    out_of_range = out_of_range || value.number < -limit || value.number >= limit;
  }
  if (out_of_range) return fail(fmt::format("does not fit in {} bits", bits));
  return check_range(rule, static_cast<double>(value.number));
}

Outcome read_real(const ValueRule& rule, ConfigValue& value) {
  std::string_view text = value.text;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value.real);
  if (error != std::errc() || end != last || !std::isfinite(value.real)) return fail("not a number");
  return check_range(rule, value.real);
}

Outcome read_flag(ConfigValue& value) {
  value.flag = equals_ignoring_case(value.text, "true");
  if (!value.flag && !equals_ignoring_case(value.text, "false")) return fail("must be true or false");
  return {};
}

Outcome check_allowed(const ValueRule& rule, std::string_view text) {
  if (rule.allowed.empty()) return {};
  std::vector<std::string> allowed = split_list(rule.allowed);
  auto matches = [&](std::string_view one) {
    return rule.any_case ? equals_ignoring_case(one, text) : one == text;
  };
  if (std::ranges::any_of(allowed, matches)) return {};
  return fail(fmt::format("must be one of {}", fmt::join(allowed, ", ")));
}

Outcome read_text(const ValueRule& rule, ConfigValue& value) {
  if (rule.not_empty && value.text.empty()) return fail("must not be empty");
  return check_allowed(rule, value.text);
}

Outcome read_list(const ValueRule& rule, ConfigValue& value) {
  std::unordered_set<std::string> there;
  for (std::string& element : split_list(value.text)) {
    // A `check` reads the elements its own way: empty ones, and those that are there twice.
    bool own_way = rule.check != nullptr;
    if (element.empty() && !own_way) return fail("has an empty element");
    if (auto checked = check_allowed(rule, element); !checked) return checked;
    if (own_way || there.insert(element).second) value.list.push_back(std::move(element));
  }
  if (rule.not_empty && value.list.empty()) return fail("must not be empty");
  return {};
}

Outcome read(const ValueRule& rule, ConfigValue& value) {
  switch (rule.type) {
    case ConfigType::kBoolean: return read_flag(value);
    case ConfigType::kInt:
    case ConfigType::kShort:
    case ConfigType::kLong: return read_whole(rule, value);
    case ConfigType::kDouble: return read_real(rule, value);
    case ConfigType::kList: return read_list(rule, value);
    case ConfigType::kString:
    case ConfigType::kClass:
    case ConfigType::kPassword:
    case ConfigType::kUnknown: break;
  }
  return read_text(rule, value);
}

// As Java prints a double: 0.5, 1000.0, 2.147483648E9.
std::string real_text(double number) {
  std::array<char, 64> buffer;
  double size = std::fabs(number);
  bool positional = size == 0 || (size >= 1e-3 && size < 1e7);
  auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format).ptr;
  std::string text(buffer.data(), end);
  if (positional) return text.find('.') == std::string::npos ? text + ".0" : text;
  size_t mark = text.find('e');
  std::string digits = text.substr(0, mark);
  int exponent = 0;
  size_t sign = text[mark + 1] == '+' ? 2 : 1;
  std::from_chars(text.data() + mark + sign, text.data() + text.size(), exponent);
  return fmt::format("{}{}E{}", digits, digits.find('.') == std::string::npos ? ".0" : "", exponent);
}

}  // namespace

Result<ConfigValue, std::string> parse_value(const ValueRule& rule, std::string_view text) {
  ConfigValue value;
  value.text = trimmed(text);
  if (auto done = read(rule, value); !done) return std::unexpected(done.error());
  if (rule.check != nullptr && !rule.check(value)) {
    return std::unexpected(fmt::format("must be {}", rule.form));
  }
  return value;
}

std::string normal_text(ConfigType type, const ConfigValue& value) {
  switch (type) {
    case ConfigType::kBoolean: return value.flag ? "true" : "false";
    case ConfigType::kInt:
    case ConfigType::kShort:
    case ConfigType::kLong: return std::to_string(value.number);
    case ConfigType::kDouble: return real_text(value.real);
    case ConfigType::kList: return fmt::format("{}", fmt::join(value.list, ","));
    case ConfigType::kString:
    case ConfigType::kClass:
    case ConfigType::kPassword:
    case ConfigType::kUnknown: break;
  }
  return value.text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> elements;
  if (trimmed(text).empty()) return elements;
  while (true) {
    size_t comma = text.find(',');
    elements.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return elements;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace pelton::broker
