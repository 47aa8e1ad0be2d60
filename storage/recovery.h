// Recovery: from the files of a partition directory to a log that can be read and appended.
//
// After a clean stop the files are trusted and only the last segment's end is looked at; the rest is
// opened when it is needed. After any other stop every batch from the recovery point on is checked (size,
// magic, CRC, ascending offsets), a torn tail is cut off, and what is missing or doubtful is made again:
// indexes, producer state, leader epochs. Damage in what was on stable storage is never cut away, and lost
// segment files are not taken for none: the log does not open and the error says which offsets.
//
// Nothing is synced here: what was read may be in the page cache only. It counts as synced all the same, since
// LogDir::settle() syncs it before anybody is answered.
//
// Owner shard: the log's. Blocking; start-up only.
#pragma once

#include <memory>
#include <string>

#include "storage/log_parts.h"

namespace pelton::storage {

struct LoadOptions {
  bool clean = false;
  int64_t recovery_point = 0;
  int64_t log_start_offset = 0;
  int64_t durable_offset = 0;  // what is before it was on stable storage; not below the recovery point
  bool sync_failed = false;    // in the run before: what is after the durable offset has to be written again
  bool is_new = false;         // its directory is empty: nothing to look for
};

// Fills `parts`, which has its directory and config and nothing else. The error is one sentence.
Result<void, std::string> load_log_parts(Log::Parts& parts, const LoadOptions& options);

}  // namespace pelton::storage
