// Checkpoints: Kafka's small text files. Parsing and formatting only; who calls says where and when.
//
//   <offset checkpoints>      "0\n<count>\n<topic> <partition> <offset>\n..."
//   leader-epoch-checkpoint   "0\n<count>\n<epoch> <start offset>\n..."
//   partition.metadata        "version: 0\ntopic_id: <base64url uuid>"
//   .kafka_cleanshutdown      {"version":0,"brokerEpoch":N}
//
// Pure functions, any shard. The files are hostile until parsed: a wrong count, version or number makes
// the whole file unusable (nullopt), as in Apache Kafka.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/uuid.h"
#include "reactor/file_system.h"
#include "storage/leader_epochs.h"

namespace pelton::storage {

inline constexpr const char* kRecoveryPointCheckpoint = "recovery-point-offset-checkpoint";
inline constexpr const char* kLogStartOffsetCheckpoint = "log-start-offset-checkpoint";
inline constexpr const char* kHighWatermarkCheckpoint = "replication-offset-checkpoint";
inline constexpr const char* kLeaderEpochCheckpoint = "leader-epoch-checkpoint";
inline constexpr const char* kPartitionMetadata = "partition.metadata";
inline constexpr const char* kCleanShutdownMarker = ".kafka_cleanshutdown";

// More than any checkpoint of a directory with a million partitions needs.
inline constexpr size_t kMaxCheckpointBytes = 256 << 20;
inline constexpr size_t kMaxSmallFileBytes = 1 << 20;

struct OffsetCheckpointEntry {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  friend bool operator==(const OffsetCheckpointEntry&, const OffsetCheckpointEntry&) = default;
};

std::string format_offset_checkpoint(const std::vector<OffsetCheckpointEntry>& entries);
std::optional<std::vector<OffsetCheckpointEntry>> parse_offset_checkpoint(std::string_view text);

std::string format_leader_epochs(const std::vector<LeaderEpochEntry>& entries);
std::optional<std::vector<LeaderEpochEntry>> parse_leader_epochs(std::string_view text);

std::string format_partition_metadata(Uuid topic_id);
std::optional<Uuid> parse_partition_metadata(std::string_view text);

std::string format_clean_shutdown(int64_t broker_epoch);

// Decimal without sign (or with a minus), the whole text; nullopt when it does not fit.
template <class T>
std::optional<T> parse_number(std::string_view text);

// Replaces `path` (through path + ".tmp") without waiting for the disk: for files that recovery can do
// without. After a power loss the old or the new content is there, or none that parses.
Status replace_file_unsynced(FileSystem& files, const std::string& path, std::string_view text);
// Makes a file that is not there (EEXIST), without waiting for the disk. A stop at a bad time leaves it empty.
Status write_new_file(FileSystem& files, const std::string& path, std::string_view text);

}  // namespace pelton::storage
