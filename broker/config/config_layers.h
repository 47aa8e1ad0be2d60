// ConfigLayers: the texts of the broker's keys, kept apart by where they come from. The stronger layer wins:
// dynamic of this broker > dynamic default of all brokers > static (file, environment, --override) > default.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pelton::broker {

// By key, as given. Of topics, groups and client metrics subscriptions too.
using ConfigTexts = std::map<std::string, std::string, std::less<>>;

struct ConfigLayers {
  ConfigTexts from_files;       // everything that was there when the process started
  ConfigTexts dynamic_default;  // persisted, for all brokers
  ConfigTexts dynamic_broker;   // persisted, for this broker
};

// The spellings of the setting that `name` belongs to, the strongest first; `name` alone for most keys.
std::vector<std::string_view> spellings_of(std::string_view name);

// The text that holds for the key, in the strongest layer that has it; nullptr: its default does.
const std::string* text_of(const ConfigLayers& layers, std::string_view name);

}  // namespace pelton::broker
