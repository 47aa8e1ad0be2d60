// Log::Parts: what a log is made of. For storage/ only.
//
// Owner shard: the log's. Lifetime: the log's; a sync in flight may outlive it (sync_queue.h).
// Invariants: segments ascend by base offset and there is always one; only the last (active) one grows;
// a roll first writes what is queued, so only the active segment ever has queued bytes.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "reactor/base/intrusive_list.h"
#include "reactor/timer_wheel.h"
#include "storage/append_queue.h"
#include "storage/leader_epochs.h"
#include "storage/log.h"
#include "storage/producer_state.h"
#include "storage/segment.h"
#include "storage/shard_storage.h"
#include "storage/sync_queue.h"
#include "storage/timestamp_search.h"
#include "storage/transaction_index.h"

namespace pelton::storage {

struct DirtyTag;
struct SyncTag;

struct Log::Parts : ListHook<DirtyTag>, ListHook<SyncTag> {
  Parts(ShardStorage& storage_, LogObserver& observer_, const std::string& data_directory,
        const std::string& directory_name, Uuid topic_id_, const LogConfig& config_);
  ~Parts();

  // Instead of loading: one segment that is not there, and the log has failed.
  void begin_offline(int64_t log_start, int64_t end);

  // --- log_append.cc ---
  AppendResult append(MutableBytes batch, int32_t leader_epoch, AppendOrigin origin, int64_t now_ms,
                      int16_t transaction_version);
  Status roll();
  void draw_roll_jitter();
  Status sync_all();
  Status close();
  // Its mark in the data directory: up to where it is known to be on stable storage.
  void add_mark(int32_t partition, int64_t offset);
  void set_mark();
  // Notes a failure. tell_failure() passes it on to the observer, once, from the end of a turn.
  void fail(SysError error);
  void tell_failure();
  // The disk is full, or something else that passes is in the way: appends are refused for a moment, and then
  // tried again; the observer is told from the end of a turn. Any other error fails the log.
  void suspend_or_fail(SysError error);
  // What is queued cannot be written: the log ends where the file does, which is cut when some of it may be there.
  void take_back(SysError error, bool cut);
  // What belongs to a write but not into the segment: the epochs' file.
  Status flush_epochs();

  // --- log_producers.cc ---
  // Makes the producer state: newest sound snapshot, then the batches. Start-up only.
  Status load_producers();
  // Takes one batch at `position` into state and, when it aborts a transaction, into the index. Returns
  // the transaction that it ends.
  Result<std::optional<CompletedTransaction>> apply_to_producers(const proto::BatchView& batch,
                                                                 Segment& segment, uint64_t position);
  Status write_snapshot(int64_t offset);
  // Of the segments from `base_offset` on that were rolled: their transaction indexes count as not synced.
  void find_unsynced_aborts(int64_t base_offset);
  std::optional<LogPosition> first_unstable(int64_t high_watermark);
  Result<std::vector<AbortedTransaction>, proto::ErrorCode> aborted_transactions(
      int64_t offset, const FileSlice& slice);
  Result<int64_t> upper_bound_of(size_t segment_index, uint64_t position);

  // --- log_read.cc ---
  struct Found {
    Segment* segment = nullptr;  // null: no such batch
    BatchPlace place;
  };
  Result<Found> find_batch(int64_t offset);
  Result<FileSlice, proto::ErrorCode> read(int64_t offset, uint32_t max_bytes,
                                           const LogPosition& upper, bool first_batch_whole);
  std::optional<LogPosition> position_of(int64_t offset);
  uint64_t bytes_between(const LogPosition& from, const LogPosition& to) const;
  // How far a reader may go in this segment.
  uint64_t readable_end(const Segment& segment, const LogPosition& upper) const;
  Status visit_batches(int64_t from_offset, void* visitor, VisitBatch visit);

  // --- log_timestamps.cc ---
  Result<std::optional<TimestampSearch>, proto::ErrorCode> search_timestamp(int64_t timestamp,
                                                                            const LogPosition& upper,
                                                                            int64_t after_segment);
  Result<std::optional<TimestampSearch>, proto::ErrorCode> search_max_timestamp(const LogPosition& upper);
  Result<TimestampSearch, proto::ErrorCode> make_search(Segment& segment, uint64_t position, uint64_t end,
                                                        int64_t timestamp);

  // --- retention.cc ---
  int apply_retention(int64_t now_ms, int64_t high_watermark);
  void set_log_start_offset(int64_t offset);
  // Renames the files of the first `count` segments and unlinks them later; how many it were.
  Result<size_t> delete_front(size_t count);
  Result<size_t> rename_front(size_t count, std::vector<std::string>& doomed);

  Segment& active() { return *segments.back(); }
  const Segment& active() const { return *segments.back(); }
  // The segment whose range holds `offset`: the last with a base at or below it.
  size_t segment_index(int64_t offset) const;
  uint64_t size_bytes() const;
  std::string path(std::string_view name) const { return *directory + "/" + std::string(name); }
  void on_flush_due();

  ShardStorage& storage;
  FileSystem& files;
  LogObserver& observer;
  std::shared_ptr<const std::string> directory;
  Uuid topic_id;
  LogConfig config;

  std::vector<std::unique_ptr<Segment>> segments;
  LeaderEpochs epochs;
  bool epochs_dirty = false;    // to be written to the file
  bool epochs_unsaved = false;  // begun, but without records: the file waits for the first
  std::unique_ptr<ProducerState> producers;  // never null once loaded
  std::vector<int64_t> snapshots;            // offsets of the .snapshot files, ascending
  int64_t snapshot_offset = -1;              // of the one that was read or written last

  int64_t log_start_offset = 0;
  int64_t next_offset = 0;
  LogPosition written_end;
  LogPosition synced_end;

  bool closed = false;
  bool offline = false;  // failed from the start: nothing is known of its files
  bool failed = false;
  bool failure_told = false;
  SysError failure;
  std::optional<SysError> suspended;  // to be told
  uint64_t refuses_until_ns = 0;

  // The newest batches, so that readers at the tail need no index.
  struct Recent {
    int64_t segment_base = -1;
    BatchPlace place;
  };
  static constexpr size_t kRecent = 8;
  std::array<Recent, kRecent> recent;
  size_t recent_at = 0;

  // For AppendQueue.
  std::unique_ptr<PendingWrite> pending;
  uint64_t unsynced_records = 0;
  uint64_t written_back = 0;  // position up to which write-back was started in the active segment

  // For SyncQueue.
  bool directory_durable = true;  // its name, and those of the files it was made with, are on disk
  DirectorySync* directory_sync = nullptr;
  FileSync* file_sync = nullptr;  // in flight
  std::optional<DurableMarks::Slot> mark;
  // Base offset of the first rolled segment whose transaction index may not be on stable storage; -1: none.
  int64_t unsynced_aborts_from = -1;
  bool sync_in_flight = false;
  int64_t sync_goal = 0;    // syncs go on until synced_end reaches it
  LogPosition sync_covers;  // of the directory sync in flight
  Timer flush_timer;
};

}  // namespace pelton::storage
