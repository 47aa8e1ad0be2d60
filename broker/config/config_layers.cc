#include "broker/config/config_layers.h"

#include <algorithm>
#include <span>

namespace pelton::broker {
namespace {

constexpr std::string_view kFlush[] = {"log.flush.interval.ms", "log.flush.scheduler.interval.ms"};
constexpr std::string_view kRetention[] = {"log.retention.ms", "log.retention.minutes",
                                           "log.retention.hours"};
constexpr std::string_view kRoll[] = {"log.roll.ms", "log.roll.hours"};
constexpr std::string_view kJitter[] = {"log.roll.jitter.ms", "log.roll.jitter.hours"};

}  // namespace

std::vector<std::string_view> spellings_of(std::string_view name) {
  // Kafka takes the scheduler's key for the interval's default, but not the other way round.
  if (name == kFlush[0]) return {std::begin(kFlush), std::end(kFlush)};
  for (auto group : {std::span<const std::string_view>(kRetention), {kRoll}, {kJitter}}) {
    if (std::ranges::count(group, name) > 0) return {group.begin(), group.end()};
  }
  return {name};
}

const std::string* text_of(const ConfigLayers& layers, std::string_view name) {
  for (const ConfigTexts* layer : {&layers.dynamic_broker, &layers.dynamic_default, &layers.from_files}) {
    auto found = layer->find(name);
    if (found != layer->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace pelton::broker
