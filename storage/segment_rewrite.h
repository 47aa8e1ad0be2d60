// Writing again what a segment's file already says. After a sync that failed the page cache may hold bytes that
// are not on disk in pages that count as clean: no later sync writes those, unless they are written again.
//
// Owner shard: the log's. Blocking; recovery only.
#pragma once

#include <cstdint>

#include "reactor/file_system.h"

namespace pelton::storage {

class Segment;

// From the batch that holds `offset` to the end. Not synced.
Status write_again(FileSystem& files, Segment& segment, int64_t offset);

}  // namespace pelton::storage
