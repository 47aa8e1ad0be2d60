// LogDeletion: the second step of every deletion. Files and directories that were renamed (.deleted,
// -delete) are unlinked after file.delete.delay.ms, one at a time and off the shard's path. A file that a
// slice still pins may be unlinked: the pin holds its descriptor, and the bytes live as long as that. Segments are
// unlinked when their new names are on stable storage: a power loss that takes some of the renames back leaves the
// names of the others, and recovery knows the gap for what it is.
//
// What is still waiting when the process ends is left to the next one: directories that earlier processes left are
// removed one after the other, with a pause after each that is as long as its removal took, so that thousands of
// them leave the disk, and its journal, to those who write.
//
// Owner shard: one. Lifetime: outlives the logs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reactor/io.h"
#include "reactor/loop.h"
#include "storage/sync_queue.h"

namespace pelton::storage {

class LogDeletion {
 public:
  LogDeletion(Loop& loop, SyncQueue& syncs);
  ~LogDeletion();
  LogDeletion(const LogDeletion&) = delete;
  LogDeletion& operator=(const LogDeletion&) = delete;

  // `renamed_in`: the data directory whose names have to be on stable storage first; null when they need not.
  void delete_files(std::vector<std::string> paths, int64_t delay_ms, DirectorySync* renamed_in = nullptr);
  void delete_directory(std::string path, int64_t delay_ms);
  // Those of earlier processes, once.
  void delete_leftovers(std::vector<std::string> directories);

  // Nothing waits and nothing is being unlinked.
  bool idle() const { return waiting_.empty() && !busy(); }

 private:
  struct Directory {
    std::string path;
    bool listed = false;  // its entries have been noted, to be removed before it
  };
  struct Doomed {
    std::vector<std::string> files;
    std::vector<Directory> directories;  // empty: files alone; the innermost last
    DirectorySync* renamed_in = nullptr;
    bool leftover = false;
  };

  bool busy() const { return synced_.is_linked() || unlink_.done.pending() || remove_.done.pending(); }
  void add(Doomed doomed, int64_t delay_ms);
  void on_due();
  void take_due();
  void begin();
  void on_synced(int32_t result);
  void step();
  void list_innermost();
  void on_unlinked(int32_t result);
  void on_removed(int32_t result);
  void end();
  void next_leftover(uint64_t pause_ns);
  void start_timer();

  Loop& loop_;
  SyncQueue& syncs_;
  std::multimap<uint64_t, Doomed> waiting_;  // by due time
  Doomed current_;
  uint64_t begun_ns_ = 0;  // current_
  std::vector<std::string> leftovers_;
  size_t leftovers_that_stay_ = 0;
  std::string first_that_stays_;  // and why
  std::string unlinking_;  // or the directory that is being removed
  Timer timer_;
  FileSystemWaiter synced_;
  Op unlink_;
  Op remove_;
};

}  // namespace pelton::storage
