// Tells what the tables of broker/config know, in the form of ConfigKeys.java, for agreement.py to compare.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "broker/config/client_metrics_keys.h"
#include "broker/config/group_keys.h"
#include "broker/config/keys.h"
#include "broker/config/load_config.h"
#include "broker/config/topic_keys.h"

namespace pelton::broker {
namespace {

std::string_view type_name(ConfigType type) {
  switch (type) {
    case ConfigType::kBoolean: return "BOOLEAN";
    case ConfigType::kString: return "STRING";
    case ConfigType::kInt: return "INT";
    case ConfigType::kShort: return "SHORT";
    case ConfigType::kLong: return "LONG";
    case ConfigType::kDouble: return "DOUBLE";
    case ConfigType::kList: return "LIST";
    case ConfigType::kClass: return "CLASS";
    case ConfigType::kPassword: return "PASSWORD";
    case ConfigType::kUnknown: break;
  }
  return "UNKNOWN";
}

std::string_view importance_name(Importance importance) {
  return importance == Importance::kHigh ? "HIGH" : importance == Importance::kMedium ? "MEDIUM" : "LOW";
}

std::string_view mode_name(UpdateMode mode) {
  return mode == UpdateMode::kReadOnly    ? "read-only"
         : mode == UpdateMode::kPerBroker ? "per-broker"
                                          : "cluster-wide";
}

std::string valid(const ValueRule& rule) {
  constexpr double kNoMin = std::numeric_limits<double>::lowest();
  constexpr double kNoMax = std::numeric_limits<double>::max();
  if (rule.check != nullptr) return std::string(rule.form);
  if (!rule.allowed.empty()) {
    return fmt::format("{}[{}]", rule.any_case ? "(case insensitive) " : "",
                       fmt::join(split_list(rule.allowed), ", "));
  }
  if (rule.min != kNoMin) {
    return rule.max == kNoMax ? fmt::format("[{},...]", rule.min)
                              : fmt::format("[{},...,{}]", rule.min, rule.max);
  }
  if (rule.type == ConfigType::kList) return "";
  if (rule.not_empty) return "non-empty string";
  return "-";
}

void tell(std::string_view kind, const ConfigKey& key, std::string_view mode, std::string_view synonyms,
          const std::vector<std::string>& texts) {
  std::string default_value = "-";
  if (key.default_value) {
    auto value = parse_value(key.rule, *key.default_value);
    default_value = value ? normal_text(key.rule.type, *value) : "(refused)";
  }
  fmt::print("key\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", kind, key.name, type_name(key.rule.type),
             default_value, valid(key.rule), importance_name(key.importance), key.internal, mode,
             synonyms.empty() ? "-" : synonyms);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (auto value = parse_value(key.rule, texts[i])) {
      fmt::print("value\t{}\t{}\t{}\t{}\n", kind, key.name, i, normal_text(key.rule.type, *value));
    }
  }
}

std::vector<std::string> lines_of(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool takes(const std::string& properties) {
  std::vector<std::string> notices;
  return load_config({.file_name = "block", .file_text = properties, .environment = {}, .overrides = {}},
                     notices)
      .has_value();
}

void tell_files(const char* path) {
  int number = 0;
  std::string block;
  auto end_block = [&] {
    if (block.empty()) return;
    fmt::print("file\t{}\t{}\n", number++, takes(block) ? "taken" : "refused");
    block.clear();
  };
  for (const std::string& line : lines_of(path)) {
    if (line.empty()) {
      end_block();
    } else {
      block += line + "\n";
    }
  }
  end_block();
}

int run(char** arguments) {
  std::vector<std::string> texts = lines_of(arguments[1]);
  for (const BrokerKey* key : broker_keys()) tell("broker", *key, mode_name(key->mode), "", texts);
  for (const TopicKey& key : topic_keys()) tell("topic", key, "-", key.synonyms, texts);
  for (const GroupKey& key : group_keys()) tell("group", key, "-", key.broker_key, texts);
  for (const ConfigKey& key : client_metrics_keys()) tell("client-metrics", key, "-", "", texts);
  tell_files(arguments[2]);
  return 0;
}

}  // namespace
}  // namespace pelton::broker

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: table_tool texts blocks\n", stderr);
    return 2;
  }
  return pelton::broker::run(argv);
}
