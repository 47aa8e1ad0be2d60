// The three places settings come from, read into one form: server.properties (Java's syntax), KAFKA_*
// environment variables, --override key=value. Nothing here knows what a key means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace pelton::broker {

enum class SettingSource { kFile, kEnvironment, kOverride };

// One setting with the place it was read from, ready for a message: "server.properties line 12",
// "KAFKA_NODE_ID", "--override".
struct Setting {
  std::string key;
  std::string value;
  std::string place;
  SettingSource source = SettingSource::kFile;
};

// Java properties: # and ! comments, continuation lines, escapes, '=' ':' or blanks between key and
// value. `file` is the name for messages. The error is one sentence.
Result<std::vector<Setting>, std::string> parse_properties(std::string_view text,
                                                           std::string_view file);

// KAFKA_LOG_SEGMENT_BYTES=1 -> log.segment.bytes=1 ("_" is ".", "__" is "_", "___" is "-"). nullopt: the
// variable does not name a setting (another prefix, or one of the variables of Kafka's start scripts).
std::optional<Setting> parse_environment(std::string_view variable);

// "key=value".
Result<Setting, std::string> parse_override(std::string_view argument);

}  // namespace pelton::broker
