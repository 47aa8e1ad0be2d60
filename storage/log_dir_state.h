// LogDir::State: what an open data directory holds. For storage/ only; see log_dir.h for owners.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/log_dir.h"
#include "storage/meta_properties.h"
#include "storage/sync_queue.h"

namespace pelton::storage {

// A version 4 id, not one whose text begins with '-' (Kafka's tools take that for an option).
Uuid random_uuid(Io& io);

// Of a partition, in the table of durable offsets.
std::string mark_name(Uuid topic_id, int32_t partition);

struct LogDir::State {
  State(Io& io_, const LogDirOptions& options_) : io(io_), files(io_.files()), options(options_) {}
  ~State() {
    if (directory >= 0) files.close(directory);
    if (lock >= 0) files.close(lock);
  }

  std::string path(std::string_view name) const { return options.path + "/" + std::string(name); }

  Result<void, std::string> open();
  Result<void, std::string> open_directory();
  Result<void, std::string> take_lock();
  Result<void, std::string> scan();
  Result<void, std::string> load_properties();
  Result<void, std::string> format();
  Status write_first_properties(const std::string& path);
  Result<void, std::string> take_marker();
  void read_checkpoints();
  void read_marks();
  // Its file, when this shard has none yet.
  void open_marks(DirectorySync& sync);
  // For the next start, when no shard has marks yet.
  void note_failed_sync();
  template <class Set>
  void read_checkpoint(const char* name, Set set);
  Status save_checkpoints();
  void find_log_starts();
  Status save_log_starts();
  void take_out(const TopicPartition& id);
  Status clear_unfinished(const std::string& partition);

  Io& io;
  FileSystem& files;
  LogDirOptions options;
  MetaProperties properties;
  FileFd lock = -1;
  FileFd directory = -1;  // for syncs: the kernel reports write-back errors since it was opened
  std::vector<std::string> extended;  // directories in which open() made one
  bool clean = false;
  // Something was changed, or read that may be in the page cache only: LogDir::settle() has work.
  std::atomic<bool> unsettled{false};
  std::vector<FoundPartition> partitions;
  std::vector<std::string> leftovers;  // paths of directories whose deletion had begun
  std::unordered_map<std::string, Uuid> topic_ids;  // of `partitions`, by directory name

  // What earlier runs noted: the directory's files, and the offsets by "<topic id>-<partition>".
  std::vector<std::string> old_marks;
  std::unordered_map<std::string, int64_t> durable_offsets;
  std::atomic<int32_t> next_marks{0};
  bool sync_failed = false;  // in an earlier run

  // Shards load their logs at the same time; the checkpoints are read and written rarely.
  std::mutex checkpoints_mutex;
  std::unordered_map<std::string, PartitionCheckpoint> checkpoints;  // by directory name
  std::unordered_set<std::string> noted;  // whose log start was, since the checkpoints were written
  LogDir::LogStarts starts;      // of them; version 0: what the file held at open
  uint64_t starts_in_file = 0;  // the version that is in the file
};

}  // namespace pelton::storage
