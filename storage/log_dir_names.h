// Names of partition directories: <topic>-<partition>, and with .<32 hex>-delete, -future, -stray behind.
// Pure functions, any shard.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/uuid.h"
#include "storage/log_dir.h"

namespace pelton::storage {

std::optional<TopicPartition> parse_partition_directory(std::string_view name);
// A directory whose deletion had begun.
bool is_deleted_directory(std::string_view name);
// At most 255 bytes, what file systems allow: a long topic name is cut.
std::string deleted_directory_name(const TopicPartition& id, const Uuid& unique);
std::string stray_directory_name(const TopicPartition& id, const Uuid& unique);

}  // namespace pelton::storage
