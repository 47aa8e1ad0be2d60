#include "broker/config/config_key.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace pelton::broker {
namespace {

bool is_number(std::string_view text, int64_t most) {
  int64_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= most;
}

bool is_host_and_port(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  bool host = std::ranges::all_of(text.substr(0, colon), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".-_[]:%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return host && is_number(text.substr(colon + 1), 65'535);
}

// Takes a run of digits with the unit behind it off the front, when it is there.
bool take_unit(std::string_view& text, char unit, bool fraction) {
  size_t digits = text.find_first_not_of(fraction ? "0123456789." : "0123456789");
  if (digits == std::string_view::npos || digits == 0 || text[digits] != unit) return false;
  if (text.front() == '.' || std::ranges::count(text.substr(0, digits), '.') > 1) return false;
  text.remove_prefix(digits + 1);
  return true;
}

// PnDTnHnMn.nS with at least one part; nothing negative.
bool is_duration(std::string_view text) {
  if (!text.starts_with('P')) return false;
  text.remove_prefix(1);
  bool days = take_unit(text, 'D', false);
  if (text.empty()) return days;
  if (!text.starts_with('T')) return false;
  text.remove_prefix(1);
  bool hours = take_unit(text, 'H', false);
  bool minutes = take_unit(text, 'M', false);
  bool seconds = take_unit(text, 'S', true);
  return text.empty() && (hours || minutes || seconds);
}

}  // namespace

std::string_view idle_documentation(KeyUse use) {
  switch (use) {
    case KeyUse::kActs: return {};
    case KeyUse::kQuorum: return "Does nothing here: a single node has no quorum.";
    case KeyUse::kThreads: return "Does nothing here: one thread a shard does everything.";
    case KeyUse::kReplication: return "Does nothing here: a single node does not replicate.";
    case KeyUse::kSecurity: return "Does nothing here: TLS, SASL and access control are not there yet.";
    case KeyUse::kRemote: return "Does nothing here: there is no remote storage.";
    case KeyUse::kNewGroups:
      return "Does nothing here: groups of the consumer, share and streams protocols are not there yet.";
    case KeyUse::kTransactions: return "Does nothing here: transactions are not coordinated yet.";
    case KeyUse::kCompaction: return "Does nothing here: nothing is compacted yet.";
    case KeyUse::kMetrics: return "Does nothing here: there are no metrics of Java's kind.";
    case KeyUse::kQuotas: return "Does nothing here: there are no quotas yet.";
    case KeyUse::kPlugins: return "Does nothing here: Java classes cannot be loaded.";
    case KeyUse::kOther: return "Does nothing here.";
  }
  return {};
}

std::string_view idle_reason(KeyUse use) {
  constexpr std::string_view kPrefix = "Does nothing here: ";
  std::string_view text = idle_documentation(use);
  if (!text.starts_with(kPrefix)) return {};
  text.remove_prefix(kPrefix.size());
  text.remove_suffix(1);
  return text;
}

namespace key_words {

bool check_gzip_level(const ConfigValue& value) {
  return value.number == -1 || (value.number >= 1 && value.number <= 9);
}

bool check_throttled(const ConfigValue& value) {
  if (value.list.size() == 1 && value.list.front() == "*") return true;
  return std::ranges::all_of(value.list, [](std::string_view element) {
    size_t colon = element.find(':');
    if (element.empty()) return true;
    return colon != std::string_view::npos && is_number(element.substr(0, colon), INT64_MAX) &&
           is_number(element.substr(colon + 1), INT64_MAX);
  });
}

bool check_voters(const ConfigValue& value) {
  return std::ranges::all_of(value.list, [](std::string_view element) {
    size_t at = element.find('@');
    return at != std::string_view::npos && is_number(element.substr(0, at), INT32_MAX) &&
           is_host_and_port(element.substr(at + 1));
  });
}

bool check_servers(const ConfigValue& value) {
  return std::ranges::all_of(value.list, is_host_and_port);
}

bool check_offset_reset(const ConfigValue& value) {
  constexpr std::string_view kByDuration = "by_duration:";
  std::string_view text = value.text;
  if (text == "earliest" || text == "latest") return true;
  return text.starts_with(kByDuration) && is_duration(text.substr(kByDuration.size()));
}

}  // namespace key_words
}  // namespace pelton::broker
