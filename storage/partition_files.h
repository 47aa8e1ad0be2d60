// PartitionFiles: what a partition's directory holds when it is opened, after the traces of interrupted
// work were cleared away: .deleted, .cleaned and .tmp files are removed, .swap files take their place. Only
// .log.deleted files stay for now: they tell a gap that deletion made from one that was lost.
//
// Owner shard: the log's. Blocking; start-up only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reactor/file_system.h"

namespace pelton::storage {

struct SegmentFiles {
  int64_t base_offset = 0;
  bool has_offset_index = false;
  bool has_time_index = false;
};

struct PartitionFiles {
  std::vector<SegmentFiles> segments;  // ascending
  std::vector<int64_t> snapshots;      // ascending
  std::vector<int64_t> deleted;        // base offsets of .log.deleted files, ascending
};

Result<PartitionFiles> collect_partition_files(FileSystem& files, const std::string& directory);

}  // namespace pelton::storage
