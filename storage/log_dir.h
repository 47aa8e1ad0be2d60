// LogDir: one data directory in Apache Kafka's layout (meta.properties, .lock, checkpoints,
// .kafka_cleanshutdown, <topic>-<partition>/).
//
// Opened by the starting thread before the shards run. After that: create_log, load_log and delete_log
// are called by the partition's owner shard and touch only that partition's directory; the checkpoint
// and shutdown calls are made by one shard at a time (the catalog's writer).
//
// What is on stable storage, and when:
// - meta.properties, before open() returns.
// - What a start reads, repairs and makes, when settle() returns; nobody is answered before.
// - A new partition's names, with the first sync of its log (sync_queue.h), so before anything in it counts
//   as synced. Until then a power loss may take the directory; the next start makes it again, since the
//   catalog names it.
// - A deleted partition's checkpoint lines are gone before a partition of that name is made (forget()).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/base/uuid.h"
#include "reactor/io.h"
#include "storage/log.h"

namespace pelton::storage {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend bool operator==(const TopicPartition&, const TopicPartition&) = default;
  std::string directory_name() const { return topic + "-" + std::to_string(partition); }
};

struct FoundPartition {
  TopicPartition id;
  Uuid topic_id;  // from partition.metadata; zero when the file is missing
};

// One line of the three checkpoint files.
struct PartitionCheckpoint {
  TopicPartition id;
  int64_t recovery_point = 0;
  int64_t log_start_offset = 0;
  int64_t high_watermark = 0;
  Uuid topic_id = {};  // not in the files: whose partition it was when the line was made
};

struct LogDirOptions {
  std::string path;
  int32_t node_id = 1;
  // Empty: taken from meta.properties, or made when the directory is formatted.
  std::string cluster_id;
};

class LogDir {
 public:
  // Takes the lock, formats an empty directory, checks meta.properties against the options. The error is
  // one sentence for the user (path, what is wrong, what to do).
  static Result<std::unique_ptr<LogDir>, std::string> open(Io& io, const LogDirOptions& options);
  ~LogDir();

  const std::string& path() const;
  const std::string& cluster_id() const;
  int32_t node_id() const;
  Uuid directory_id() const;
  // The last stop was clean. The marker is removed by open: a crash from now on is unclean.
  bool clean_start() const;
  // Partition directories found (not -delete, -stray, -future).
  const std::vector<FoundPartition>& partitions() const;
  // Paths of the -delete directories found, for LogDeletion::delete_leftovers(); once.
  std::vector<std::string> take_leftovers();

  // Creates the directory and an empty log, without waiting for the disk (unless forget() was not called
  // for an earlier partition of that name, whose checkpoint lines are still there).
  Result<std::unique_ptr<Log>> create_log(ShardStorage& storage, LogObserver& observer,
                                          const TopicPartition& id, Uuid topic_id,
                                          const LogConfig& config);
  // Opens an existing log. After an unclean stop: scans from the recovery point, truncates a torn tail,
  // rebuilds what is missing (indexes, producer state, leader epochs). The error is one sentence.
  Result<std::unique_ptr<Log>, std::string> load_log(ShardStorage& storage, LogObserver& observer,
                                                     const TopicPartition& id,
                                                     const LogConfig& config);
  // Stands for a log that could not be loaded: it gives nothing and takes nothing, its files stay as they are,
  // and its checkpoint lines too.
  std::unique_ptr<Log> offline_log(ShardStorage& storage, LogObserver& observer, const TopicPartition& id,
                                   Uuid topic_id, const LogConfig& config);
  // Up to which offset the partition is known to have been on stable storage.
  int64_t durable_offset(Uuid topic_id, int32_t partition) const;
  // Every log is loaded: what earlier runs noted of them is not needed any more.
  void all_loaded();
  // Renames the directory to <name>.<32 hex>-delete; its files are unlinked off the shard after
  // file.delete.delay.ms and when no slice pins them. Destroys the log when that is safe.
  void delete_log(ShardStorage& storage, std::unique_ptr<Log> log, const TopicPartition& id);

  // Renames a directory that belongs to no topic of the catalog to <name>.<32 hex>-stray, as Apache Kafka
  // does: nothing is deleted that the catalog did not delete. Takes it, and its checkpoint lines, out of
  // what was found. Start-up only.
  Status set_aside(const TopicPartition& id);
  // A directory without a sound partition.metadata and without records: what a power loss left of its
  // creation. Empties it and takes it out of what was found, so that it is made again. False: it is
  // something else. Start-up only.
  bool discard_unfinished(const FoundPartition& found);
  // Brings to stable storage what was changed, or read after an unclean stop, by one sync if any. Start-up
  // only: after directories were set aside, and after every log was loaded.
  Status settle();

  // Checkpoint of a log that was read at open, for a partition that is not loaded (yet).
  std::optional<PartitionCheckpoint> checkpoint_of(const TopicPartition& id) const;
  // Recovery points and high watermarks go into their files; log starts are noted (log_starts()). Lines of
  // partitions that are not in `all` go, unless their log start was noted since the last time.
  Status write_checkpoints(const std::vector<PartitionCheckpoint>& all);

  // The log start that clients are to be told of: it does not go back with older lines. The rest of the line
  // counts when there is none of this partition yet.
  void note_log_start(const PartitionCheckpoint& line);
  // What log-start-offset-checkpoint has to hold; another version when it has changed (log_start_checkpoint.h).
  struct LogStarts {
    std::string text;
    uint64_t version = 0;
  };
  LogStarts log_starts() const;
  // Renames `file`, synced, over the checkpoint. False: the log starts have changed since `version`.
  Result<bool> place_log_starts(const std::string& file, uint64_t version);
  // The partitions that have lines.
  std::vector<TopicPartition> in_checkpoints() const;
  // The partitions were deleted: their lines leave the checkpoints. On stable storage when log_starts() are, and
  // the file system was synced after this.
  Status forget(const std::vector<TopicPartition>& deleted);
  // Writes .kafka_cleanshutdown. Call after every log is closed and the checkpoints are written.
  Status mark_clean_shutdown();

 private:
  struct State;
  explicit LogDir(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pelton::storage
