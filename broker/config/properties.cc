#include "broker/config/properties.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include <fmt/format.h>

namespace pelton::broker {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

void append_utf8(std::string& out, uint32_t code) {
  auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  }
}

// Joins continued lines: next() gives one logical line with its escapes still in it.
class LogicalLines {
 public:
  explicit LogicalLines(std::string_view text) : left_(text) {}

  bool next(std::string& line) {
    line.clear();
    std::string_view natural;
    while (take_natural(natural)) {
      if (natural.empty() || natural.front() == '#' || natural.front() == '!') continue;
      first_ = number_;
      bool more = take_continuation_mark(natural);
      line.append(natural);
      while (more && take_natural(natural)) {
        more = take_continuation_mark(natural);
        line.append(natural);
      }
      return true;
    }
    return false;
  }
  int number() const { return first_; }

 private:
  bool take_natural(std::string_view& line) {
    if (left_.empty()) return false;
    ++number_;
    size_t end = left_.find_first_of("\r\n");
    line = left_.substr(0, end);
    if (end == std::string_view::npos) {
      left_ = {};
    } else {
      bool pair = left_.substr(end, 2) == "\r\n";
      left_.remove_prefix(end + (pair ? 2 : 1));
    }
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    return true;
  }

  // An odd number of backslashes at the end continues the line; the last one goes.
  static bool take_continuation_mark(std::string_view& line) {
    size_t count = 0;
    while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
    if (count % 2 == 0) return false;
    line.remove_suffix(1);
    return true;
  }

  std::string_view left_;
  int number_ = 0;
  int first_ = 0;
};

// False: a \u that four hexadecimal digits do not follow.
bool unescape(std::string_view text, std::string& out) {
  uint32_t high = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    char c = text[++i];
    if (c == 'u') {
      uint32_t code = 0;
      if (text.size() - i < 5) return false;
      for (int digit = 0; digit < 4; ++digit) {
        char hex = text[++i];
        if (!std::isxdigit(static_cast<unsigned char>(hex))) return false;
        code = code * 16 + static_cast<uint32_t>(hex <= '9' ? hex - '0' : (hex | 0x20) - 'a' + 10);
      }
      if (code >= 0xD800 && code < 0xDC00) {
        high = code;
        continue;
      }
      if (high != 0 && code >= 0xDC00 && code < 0xE000) {
        code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00);
      }
      high = 0;
      append_utf8(out, code);
    } else {
      out.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c);
    }
  }
  return true;
}

// Where the key ends: at the first '=', ':' or blank that no backslash escapes.
size_t key_end(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || is_blank(line[i])) {
      return i;
    }
  }
  return line.size();
}

std::string_view value_after(std::string_view line, size_t end) {
  line.remove_prefix(end);
  auto skip_blanks = [&line] {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  };
  skip_blanks();
  if (!line.empty() && (line.front() == '=' || line.front() == ':')) line.remove_prefix(1);
  skip_blanks();
  return line;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// Variables of Kafka's start scripts and images, and what container platforms add: no settings.
constexpr std::array<std::string_view, 13> kForeignVariables = {
    "CLUSTER_ID", "DEBUG",    "GC_LOG_OPTS", "HEAP_OPTS", "HOME",        "JMX_OPTS", "JMX_PORT",
    "JVM_PERFORMANCE_OPTS",   "LOG4J_OPTS",  "MODE",      "OPTS",        "USER",     "VERSION"};
constexpr std::array<std::string_view, 5> kForeignPrefixes = {"LOG4J_", "SERVICE_", "PORT_", "JMX_",
                                                               "DEBUG_"};

bool foreign(std::string_view name) {
  return name.empty() || name == "PORT" || std::ranges::count(kForeignVariables, name) > 0 ||
         std::ranges::any_of(kForeignPrefixes, [&](auto p) { return name.starts_with(p); });
}

}  // namespace

Result<std::vector<Setting>, std::string> parse_properties(std::string_view text,
                                                           std::string_view file) {
  std::vector<Setting> settings;
  LogicalLines lines(text);
  std::string line;
  while (lines.next(line)) {
    Setting setting;
    setting.place = fmt::format("{} line {}", file, lines.number());
    size_t end = key_end(line);
    std::string value;
    if (!unescape(std::string_view(line).substr(0, end), setting.key) ||
        !unescape(value_after(line, end), value)) {
      return std::unexpected(setting.place + ": \\u must be followed by four hexadecimal digits");
    }
    setting.value = trimmed(value);
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::optional<Setting> parse_environment(std::string_view variable) {
  constexpr std::string_view kPrefix = "KAFKA_";
  size_t equals = variable.find('=');
  if (!variable.starts_with(kPrefix) || equals == std::string_view::npos) return std::nullopt;
  std::string_view name = variable.substr(kPrefix.size(), equals - kPrefix.size());
  if (foreign(name)) return std::nullopt;
  Setting setting;
  setting.place = variable.substr(0, equals);
  setting.source = SettingSource::kEnvironment;
  setting.value = trimmed(variable.substr(equals + 1));
  for (size_t i = 0; i < name.size();) {
    size_t run = name.find_first_not_of('_', i);
    run = (run == std::string_view::npos ? name.size() : run) - i;
    if (run == 0) {
      setting.key.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(name[i++]))));
    } else {
      run = std::min<size_t>(run, 3);
      setting.key.push_back(run == 1 ? '.' : run == 2 ? '_' : '-');
      i += run;
    }
  }
  return setting;
}

Result<Setting, std::string> parse_override(std::string_view argument) {
  size_t equals = argument.find('=');
  if (equals == std::string_view::npos || trimmed(argument.substr(0, equals)).empty()) {
    return std::unexpected(fmt::format("--override {}: expected key=value", argument));
  }
  return Setting{std::string(trimmed(argument.substr(0, equals))),
                 std::string(trimmed(argument.substr(equals + 1))), "--override", SettingSource::kOverride};
}

}  // namespace pelton::broker
