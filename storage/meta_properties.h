// MetaProperties: meta.properties of a log directory, version 1 (Java properties text).
//   version=1, node.id, cluster.id, directory.id. Other keys are kept out: Kafka ignores them too.
// Pure functions, any shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"
#include "reactor/base/uuid.h"

namespace pelton::storage {

inline constexpr const char* kMetaPropertiesFile = "meta.properties";

struct MetaProperties {
  int32_t node_id = -1;
  std::string cluster_id;
  Uuid directory_id;  // zero when the file has none (written by an older Apache Kafka)
  friend bool operator==(const MetaProperties&, const MetaProperties&) = default;
};

std::string format_meta_properties(const MetaProperties& properties);
// The error says what is wrong, without the path.
Result<MetaProperties, std::string> parse_meta_properties(std::string_view text);

}  // namespace pelton::storage
