// ShardStorage: what the logs of one shard share: the queue of appends written at each turn's end, the
// bounded cache of segment descriptors, and the syncs in flight.
//
// Owner shard: one. Lifetime: outlives the logs of its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "reactor/base/latency.h"
#include "reactor/shard.h"

namespace pelton::storage {

class AppendQueue;       // append_queue.h
class DescriptorCache;   // descriptor_cache.h
class IndexBlockCache;   // index_file.h
class LogDeletion;       // log_deletion.h
class SyncQueue;         // sync_queue.h

// Counters for metrics and tests.
struct StorageCounters {
  uint64_t writes = 0;         // pwritev calls
  uint64_t bytes_written = 0;
  uint64_t syncs = 0;
  uint64_t file_system_syncs = 0;
  LatencyHistogram sync_times;           // of segment files
  LatencyHistogram file_system_sync_times;
};

struct ShardStorage {
  // max_open_files: descriptors the cache may keep (all logs of the shard together).
  ShardStorage(Shard& shard, size_t max_open_files);
  ShardStorage(Loop& loop, size_t max_open_files);
  // Waits for the syncs and unlinks in flight. Everything else of the shard has ended before.
  ~ShardStorage();

  Loop& loop;
  StorageCounters counters;
  std::unique_ptr<IndexBlockCache> index_blocks;
  std::unique_ptr<DescriptorCache> descriptors;
  std::unique_ptr<SyncQueue> syncs;
  std::unique_ptr<LogDeletion> deletions;
  std::unique_ptr<AppendQueue> appends;
};

const StorageCounters& counters(const ShardStorage& storage);

}  // namespace pelton::storage
