// The metadata log __cluster_metadata-0: opening it, reading what it and its snapshots say, and the
// records with which a start continues it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"
#include "broker/partition.h"
#include "reactor/base/result.h"

namespace pelton::broker {

inline constexpr std::string_view kMetadataTopic = "__cluster_metadata";

struct MetadataLog {
  std::unique_ptr<Partition> partition;
  int32_t leader_epoch = 1;
  bool empty = true;
  uint64_t bytes_behind_snapshot = 0;  // of the log: since the newest snapshot
  // What a freshly formatted directory of Apache Kafka wants finalized: record values.
  std::vector<std::vector<uint8_t>> bootstrap;
};

// Opens or creates the log and replays the newest snapshot and everything after it. Blocking. The error is
// one sentence for the user.
Result<MetadataLog, std::string> open_metadata_log(BrokerShard& here, CatalogReplay& replay);

// The same replay of a log that is open, into an empty state. Blocking.
Result<void, std::string> replay_metadata_log(FileSystem& files, storage::Log& log, CatalogReplay& replay);

// The control batch that says who leads the log from now on; the first batch of a new log.
std::vector<uint8_t> leader_change_batch(int32_t node_id, int32_t leader_epoch, int64_t now_ms);

}  // namespace pelton::broker
