// ShardSample: what one shard tells for one scrape: plain copies, so that the page can be written
// elsewhere. take() collects a slice of the shard's partitions and groups at a time.
//
// Owner: the scrape; filled on the shard that it samples, read after all shards have finished.
// Invariant: bounded: past the limits the rest is counted and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/metrics/request_metrics.h"
#include "broker/net/connection_limits.h"
#include "reactor/base/uuid.h"

namespace pelton::broker {

struct PartitionSample {
  std::string topic;
  int32_t index = 0;
  int64_t log_start = 0;
  int64_t log_end = 0;
  int64_t high_watermark = 0;
  int64_t last_stable = 0;
  uint64_t bytes = 0;
};

struct OffsetSample {
  std::string group;
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
};

struct ShardSample {
  ShardId shard = 0;
  ShardCounters counters;
  storage::StorageCounters storage;
  uint64_t messages_sent = 0;
  uint64_t turns = 0;
  uint64_t stalled_turns = 0;
  uint64_t longest_turn_ns = 0;
  uint64_t open_connections = 0;
  uint64_t requests_in_flight = 0;
  uint64_t unsent_bytes = 0;
  uint64_t request_memory_used = 0;
  uint64_t request_memory_limit = 0;
  // Of all shards; told by the one that counts them.
  std::vector<ConnectionLimits::ListenerCount> listeners;
  uint64_t connections_most = 0;
  uint64_t connections_waited = 0;
  uint64_t buffer_bytes_used = 0;
  uint64_t buffer_bytes_limit = 0;
  uint64_t delayed_fetches = 0;
  uint64_t fetch_sessions = 0;
  uint64_t fetch_session_evictions = 0;
  uint64_t partition_count = 0;
  RequestMetrics::ByApi requests;
  std::vector<PartitionSample> partitions;
  std::vector<OffsetSample> offsets;
  uint64_t groups = 0;
  uint64_t left_out = 0;  // partitions and offsets beyond the limits
};

// How many series of one shard a scrape may hold.
struct SampleLimits {
  size_t partitions = 0;
  size_t offsets = 0;
};

class ShardSampler {
 public:
  explicit ShardSampler(const SampleLimits& limits) : limits_(limits) {}

  void begin(BrokerShard& here);
  // Collects some more; true: finished. Call once a turn.
  bool take_slice(BrokerShard& here);
  const ShardSample& sample() const { return sample_; }

 private:
  bool take_partitions(BrokerShard& here);
  bool take_offsets(BrokerShard& here);

  SampleLimits limits_;
  ShardSample sample_;
  // Where the slices are; things may come and go between two of them.
  std::vector<std::pair<Uuid, int32_t>> to_visit_;
  size_t visited_ = 0;
  int32_t coordinator_ = 0;
  std::optional<std::string> after_group_;
};

}  // namespace pelton::broker
