// BrokerShard: everything of the broker that one shard owns. Handlers get it as `here`.
//
// Owner: its shard's thread; nothing in it is touched from another. Shared constants (config, log
// directory, start time) are const or say themselves which calls are allowed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "broker/catalog/snapshot.h"
#include "broker/config/broker_config.h"
#include "broker/metrics/request_metrics.h"
#include "broker/net/close_reason.h"
#include "broker/notices.h"
#include "reactor/shard.h"
#include "storage/log_dir.h"
#include "storage/shard_storage.h"

namespace pelton {
class HelperThreads;     // reactor/helper_threads.h
}

namespace pelton::storage {
class LogStartCheckpoint;  // log_start_checkpoint.h
}

namespace pelton::broker {

class CatalogWriter;     // catalog/writer.h
class FetchSessions;     // fetch_session.h
class PartitionSet;      // partition_set.h
class ProduceShard;      // produce/produce_shard.h
class ConnectionLimits;  // net/connection_limits.h
class ConnectionSet;     // net/connection_set.h
namespace group {
class GroupShard;        // group/group_shard.h
}

struct ShardCounters {
  uint64_t requests = 0;
  uint64_t requests_hopped = 0;       // requests, or parts of requests, sent to another shard
  uint64_t connections_accepted = 0;
  uint64_t connections_moved_here = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t bytes_from_files = 0;
  CloseCounts connections_closed{};           // those that never became one too
};

struct BrokerShard {
  Shard& shard;
  // This shard's own copy of the newest configuration; changes in use_catalog(), between two turns' work.
  const BrokerConfig& config;
  storage::LogDir& log_dir;
  storage::ShardStorage storage;
  Notices notices;  // before those that tell

  // The newest snapshot this shard has applied; never null after start-up.
  std::shared_ptr<const CatalogSnapshot> catalog;
  std::unique_ptr<PartitionSet> partitions;
  std::unique_ptr<FetchSessions> sessions;
  std::unique_ptr<ProduceShard> produce;
  std::unique_ptr<group::GroupShard> groups;
  std::unique_ptr<ConnectionSet> connections;
  CatalogWriter* catalog_writer = nullptr;            // on kCatalogShard only
  storage::LogStartCheckpoint* log_starts = nullptr;  // on kCatalogShard only
  ConnectionLimits* connection_limits = nullptr;      // on kCatalogShard only
  HelperThreads* helpers = nullptr;         // of the process; may be called from any shard
  ShardCounters counters;
  RequestMetrics request_metrics;
  uint64_t requests_in_flight = 0;          // of its connections: begun, and their answers have not left
  uint64_t delayed_fetches = 0;             // of its connections
  uint64_t unsent_bytes = 0;                // in memory, of answers that have not left
  // The only thing that other shards read: for choosing where a connection goes.
  std::atomic<size_t> open_connections{0};
  bool stopping = false;                    // waits end with what there is

  // peers: those of all shards by id, this one included; complete before the loops run.
  BrokerShard(Shard& its_shard, const BrokerConfig& its_config, storage::LogDir& its_log_dir,
              const std::vector<std::unique_ptr<BrokerShard>>& peers);
  ~BrokerShard();

  const BrokerShard& peer(ShardId id) const { return *peers_[id]; }
  // Shows handlers of this shard what `newest` says, its configuration of the broker too.
  void use_catalog(std::shared_ptr<const CatalogSnapshot> newest);

 private:
  BrokerConfig config_;
  const std::vector<std::unique_ptr<BrokerShard>>& peers_;
};

inline constexpr ShardId kCatalogShard = 0;

}  // namespace pelton::broker
