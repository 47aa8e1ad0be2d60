// SyncQueue: brings written bytes of one shard's logs to stable storage, off the shard's path.
//
// A log has at most one sync in flight, and that covers exactly the bytes whose write had returned when it
// was started. Few dirty logs: a sync of each file. Many, or a log whose new segment's name is not on
// disk yet: one sync of the whole file system, at most one in flight for each data directory; what comes
// meanwhile waits for the next. A failed sync is never retried: its logs fail, and after a failed one of the file
// system everything that needs another one.
//
// Owner shard: one. Lifetime: outlives the logs; a log may be destroyed while its sync is in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reactor/base/intrusive_list.h"
#include "reactor/io.h"
#include "storage/durable_marks.h"
#include "storage/file_slice.h"
#include "storage/log.h"

namespace pelton::storage {

class SyncQueue;
struct StorageCounters;
struct SyncTag;
using SyncList = IntrusiveList<Log::Parts, SyncTag>;

// One fdatasync in flight.
struct FileSync {
  explicit FileSync(SyncQueue& queue);
  void on_done(int32_t result);

  SyncQueue& queue;
  Log::Parts* log = nullptr;  // null: destroyed meanwhile
  LogPosition covers;
  SegmentPin pin;
  uint64_t begun_ns = 0;
  Op op;
};

// Waits for a sync of the file system that begins after want(): everything written, created, renamed and
// removed until then is on stable storage. Called once: 0, or a negative errno. Unlinks itself when
// destroyed.
struct FileSystemTag;
struct FileSystemWaiter : ListHook<FileSystemTag> {
  void* owner = nullptr;
  void (*done)(void* owner, int32_t result) = nullptr;
};
using FileSystemWaiters = IntrusiveList<FileSystemWaiter, FileSystemTag>;

// The sync of the file system that holds one data directory.
struct DirectorySync {
  DirectorySync(SyncQueue& queue, std::string path);
  ~DirectorySync();
  void on_done(int32_t result);
  static void tell_waiters(FileSystemWaiters& waiters, int32_t result);

  SyncQueue& queue;
  std::string path;
  std::unique_ptr<DurableMarks> marks;  // null when they cannot be written
  FileFd directory = -1;
  uint64_t begun_ns = 0;
  bool running = false;
  // Of the sync that failed: what it lost may belong to any log, and the kernel will not tell again.
  int32_t error = 0;
  SyncList covered;  // by the one in flight
  SyncList waiting;  // for the next one
  FileSystemWaiters covered_waiters;
  FileSystemWaiters waiting_waiters;
  Op op;
};

class SyncQueue {
 public:
  SyncQueue(Io& io, StorageCounters& counters);
  ~SyncQueue();

  // What logs in this data directory share. Opened when first asked for, kept open: the kernel reports
  // write-back errors since then.
  Result<DirectorySync*> directory(const std::string& path);

  // Asks for syncs of `log` until `offset` is covered; start() begins them.
  void want(Log::Parts& log, int64_t offset);
  void want(DirectorySync& directory, FileSystemWaiter& waiter) {
    directory.waiting_waiters.push_back(waiter);
  }
  void start();
  // The log is being destroyed.
  void forget(Log::Parts& log);

 private:
  friend struct FileSync;
  friend struct DirectorySync;

  // Syncs of single files at the same time; above that the whole file system is cheaper.
  static constexpr size_t kMaxFileSyncs = 4;

  void sort_wanted(SyncList& single);
  void start_file_sync(Log::Parts& log);
  void start_directory_sync(DirectorySync& directory);
  void fail_waiting(DirectorySync& directory);
  static void advance(Log::Parts& log, const LogPosition& covers);
  void finish(Log::Parts& log, int32_t result);
  bool busy() const;

  Io& io_;
  StorageCounters& counters_;
  SyncList wanted_;
  std::vector<std::unique_ptr<DirectorySync>> directories_;
  std::vector<std::unique_ptr<FileSync>> idle_file_syncs_;
  std::vector<std::unique_ptr<FileSync>> running_file_syncs_;
};

}  // namespace pelton::storage
