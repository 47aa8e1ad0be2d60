// Scans of whole segments, for recovery.
//
// Owner shard: the log's. Blocking; start-up only.
#pragma once

#include <cstdint>

#include "storage/log_parts.h"

namespace pelton::storage {

// Where a scan of one segment ended.
struct ScanEnd {
  uint64_t position = 0;
  int64_t next_offset = 0;
  bool whole = true;  // nothing was left over
};

enum class ScanFor {
  kIndexes,
  kEverything,  // producer state, transaction index and leader epochs too
};

// Checks the segment batch by batch (size, magic, CRC, offsets ascending from `expected`) and fills its
// indexes again. Ends at the first batch that is not sound; cuts nothing.
Result<ScanEnd> scan_segment(Log::Parts& parts, Segment& segment, int64_t expected, ScanFor what);

// Whether the last entries of both indexes point at what is there.
bool indexes_sound(FileSystem& files, Segment& segment);

Status take_epochs_from_headers(FileSystem& files, Segment& segment, LeaderEpochs& epochs);

}  // namespace pelton::storage
