// AppendQueue: the batches that one shard's logs took in this turn. At the turn's end each log writes
// its own with one pwritev, then its observer is told and the syncs it needs are started.
//
// Owner shard: one. Lifetime: outlives the logs. The queued bytes belong to the callers of append and stay
// until on_written, on_suspended or on_log_failed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <sys/uio.h>

#include "reactor/base/intrusive_list.h"
#include "reactor/loop.h"
#include "storage/log.h"

namespace pelton::storage {

class SyncQueue;
struct StorageCounters;
struct DirtyTag;

// What one log has queued. Only logs with something queued hold one.
struct PendingWrite {
  std::vector<iovec> pieces;
  uint64_t bytes = 0;
  uint64_t records = 0;
};

class AppendQueue {
 public:
  AppendQueue(Loop& loop, SyncQueue& syncs, StorageCounters& counters);
  ~AppendQueue();

  void add(Log::Parts& log, MutableBytes batch, int32_t records);
  // Looks at the log at this turn's end: to write, or to tell that it failed.
  void mark_dirty(Log::Parts& log);
  // Writes what the log has queued, now (at a roll, at close). The observer is told at the turn's end.
  Status write(Log::Parts& log);
  // Forgets what is queued.
  void drop(Log::Parts& log);

 private:
  void write_all();
  void after_write(Log::Parts& log);
  Status write_pieces(Log::Parts& log, FileFd file, uint64_t position);
  void write_back(Log::Parts& log, FileFd file);

  Loop& loop_;
  SyncQueue& syncs_;
  StorageCounters& counters_;
  IntrusiveList<Log::Parts, DirtyTag> dirty_;
  std::vector<std::unique_ptr<PendingWrite>> spare_;
  TurnEnd write_end_;
};

}  // namespace pelton::storage
