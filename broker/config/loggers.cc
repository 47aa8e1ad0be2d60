#include "broker/config/loggers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "broker/config/config_resource.h"
#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

constexpr std::string_view kRoot = "root";
// Of two names for one level the first is told. Errors are always logged.
constexpr std::pair<std::string_view, LogLevel> kLevels[] = {
    {"TRACE", LogLevel::kTrace}, {"DEBUG", LogLevel::kDebug}, {"INFO", LogLevel::kInfo},
    {"WARN", LogLevel::kWarn},   {"ERROR", LogLevel::kError}, {"FATAL", LogLevel::kError}};

auto find_level(std::string_view name) {
  return std::ranges::find(kLevels, name, [](const auto& level) { return level.first; });
}

ConfigFault check_level(std::string_view logger, std::string_view level) {
  if (find_level(level) != std::end(kLevels)) return {};
  return {ErrorCode::kInvalidConfig,
          fmt::format("{}={}: must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL", logger, level)};
}

}  // namespace

DescribedConfigs describe_loggers() {
  auto level = std::ranges::find(kLevels, log_level(), [](const auto& one) { return one.second; });
  DescribedConfig root;
  root.name = kRoot;
  root.value = std::string(level->first);
  root.source = ConfigSource::kBrokerLogger;
  root.documentation = "";
  return {std::move(root)};
}

ConfigFault check_logger_change(std::string_view logger, int8_t operation,
                                std::optional<std::string_view> level) {
  switch (static_cast<AlterOperation>(operation)) {
    case AlterOperation::kSet:
    case AlterOperation::kDelete: break;
    default:
      return {ErrorCode::kInvalidRequest,
              fmt::format("{}: a logger's level can be set and deleted, nothing else", logger)};
  }
  if (logger != kRoot) {
    return {ErrorCode::kInvalidConfig, fmt::format("there is no logger {}; there is root", logger)};
  }
  if (static_cast<AlterOperation>(operation) == AlterOperation::kDelete) {
    return {ErrorCode::kInvalidRequest, "root has no other logger to take its level from"};
  }
  return check_level(logger, level.value_or(""));
}

void change_logger(std::string_view level) {
  auto found = find_level(level);
  if (found == std::end(kLevels) || found->second == log_level()) return;
  log_line(LogLevel::kInfo, fmt::format("log level is {} from now on", found->first));
  log_set_level(found->second);
}

}  // namespace pelton::broker
