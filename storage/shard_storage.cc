#include "storage/shard_storage.h"

#include "storage/append_queue.h"
#include "storage/descriptor_cache.h"
#include "storage/index_file.h"
#include "storage/log_deletion.h"
#include "storage/segment.h"
#include "storage/sync_queue.h"

namespace pelton::storage {

ShardStorage::ShardStorage(Shard& shard, size_t max_open_files)
    : ShardStorage(shard.loop(), max_open_files) {}

ShardStorage::ShardStorage(Loop& loop_, size_t max_open_files)
    : loop(loop_),
      index_blocks(std::make_unique<IndexBlockCache>()),
      descriptors(std::make_unique<DescriptorCache>(loop, max_open_files)),
      syncs(std::make_unique<SyncQueue>(loop.io(), counters)),
      deletions(std::make_unique<LogDeletion>(loop, *syncs)),
      appends(std::make_unique<AppendQueue>(loop, *syncs, counters)) {}

ShardStorage::~ShardStorage() = default;

const StorageCounters& counters(const ShardStorage& storage) { return storage.counters; }

}  // namespace pelton::storage
