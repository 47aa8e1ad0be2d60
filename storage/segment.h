// Segment: one .log file of a partition with its indexes, named by its base offset (20 digits).
//
// Owner shard: the log's; only the pin count is touched by others. Lifetime: owned by the log; a segment
// the log has dropped lives on in the descriptor cache until its last pin is gone.
// Invariants: bytes below written() are in the file and never change in place; size() counts what is
// queued too; the file is not longer than written().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "proto/batch.h"
#include "reactor/base/intrusive_list.h"
#include "storage/batch_reader.h"
#include "storage/descriptor_cache.h"
#include "storage/file_slice.h"
#include "storage/log_config.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"
#include "storage/transaction_index.h"

namespace pelton::storage {

inline constexpr const char* kLogSuffix = ".log";
inline constexpr const char* kOffsetIndexSuffix = ".index";
inline constexpr const char* kTimeIndexSuffix = ".timeindex";
inline constexpr const char* kTransactionIndexSuffix = ".txnindex";
inline constexpr const char* kSnapshotSuffix = ".snapshot";
inline constexpr const char* kDeletedSuffix = ".deleted";

// "00000000000000000042" + suffix.
std::string segment_file_name(int64_t base_offset, std::string_view suffix);

// A batch's place in its segment.
struct BatchPlace {
  int64_t base_offset = 0;
  int64_t last_offset = 0;
  uint64_t position = 0;
  uint32_t size = 0;
};

class Segment : public ListHook<DescriptorTag> {
 public:
  Segment(DescriptorCache& descriptors, IndexBlockCache& blocks,
          std::shared_ptr<const std::string> directory, int64_t base_offset);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int64_t base_offset() const { return base_offset_; }
  uint64_t size() const { return size_; }
  uint64_t written() const { return written_; }
  void set_written(uint64_t position) { written_ = position; }
  // The file's size, found at load.
  void set_size(uint64_t size) { size_ = written_ = size; }
  std::string path(std::string_view suffix) const;

  // Makes the empty file; fails when it is there.
  Status create();
  Result<FileFd> file() { return descriptors_.get(*this); }

  // Does the segment have to be rolled before this batch, by Kafka's rules? It must be known whether
  // the first batch is old enough, so the header of the first one may be read.
  Result<bool> must_roll(const proto::BatchView& batch, int64_t last_offset, const LogConfig& config,
                         int64_t now_ms);
  // Time by which this segment is ended before segment.ms (segment.jitter.ms).
  void set_roll_jitter(int64_t ms) { roll_jitter_ms_ = ms; }
  // Counts the batch in (its base offset is stamped): size, largest timestamp, index entries.
  Status note_append(const proto::BatchView& batch, int32_t index_interval_bytes);

  // Remembers where it stands: everything that is counted in is in the file.
  void remember();
  // Goes back there: what was counted in since is forgotten. cut: some of it may have reached the file.
  Status go_back(bool cut);
  // A transaction was aborted by the marker counted in last.
  Status note_aborted(const AbortedTransaction& aborted);

  // Writes index blocks that are full, and whatever the transaction index has; all = what is left too.
  Status flush_indexes(bool all);
  // Rolled or closed: the last time index entry, all entries into the files, reserved blocks given back.
  Status finish();
  // Empties the indexes and counts from zero, for recovery to fill again. The transaction index too when
  // `transactions`.
  Status reset_for_scan(bool transactions);
  // Cuts the file; the indexes are the caller's (reset_for_scan).
  Status truncate(uint64_t size);

  // Reserves blocks ahead for `bytes` at written().
  void reserve_ahead(uint64_t bytes, uint64_t limit);

  // The first batch, below `end`, whose last offset is at or after `offset`. nullopt: none.
  Result<std::optional<BatchPlace>> locate(int64_t offset, uint64_t end);
  // The position of the first batch that may hold a record of `timestamp` or later.
  Result<uint64_t> position_for_timestamp(int64_t timestamp);
  // Largest timestamp of the segment and the last offset of the batch that holds it; -1 when unknown.
  Result<TimeIndexEntry> largest_timestamp();
  // Modification time of the file: stands in for a segment without timestamps.
  Result<int64_t> modified_ms() const;
  // Offset after the last batch, by the offset index and a short scan. nullopt: the end is no whole
  // batch.
  Result<std::optional<int64_t>> next_offset();

  OffsetIndex& offset_index() { return offset_index_; }
  TimeIndex& time_index() { return time_index_; }
  TransactionIndex& transaction_index() { return transaction_index_; }

  bool pinned() const { return pins_.load(std::memory_order_acquire) != 0; }
  // Its name in the directory is on stable storage.
  bool name_durable() const { return name_durable_; }
  void set_name_durable() { name_durable_ = true; }

 private:
  friend class DescriptorCache;
  friend class SegmentPin;

  struct Standing {
    uint64_t bytes_since_index_entry = 0;
    TimeIndexEntry largest;
    TimeIndexEntry last_time_entry;
    std::optional<int64_t> first_batch_timestamp;
    uint32_t offset_entries = 0;  // not in the index files yet
    uint32_t time_entries = 0;
    uint32_t transaction_entries = 0;
  };

  Status load_timestamps();
  const std::string& offset_index_path();
  Result<std::optional<BatchPlace>> locate_from(FileFd fd, const OffsetIndexEntry& from, int64_t offset,
                                                uint64_t end);
  Result<int64_t> first_batch_timestamp();

  DescriptorCache& descriptors_;
  FileSystem& files_;
  std::shared_ptr<const std::string> directory_;
  int64_t base_offset_;
  uint64_t size_ = 0;
  uint64_t written_ = 0;
  uint64_t reserved_ = 0;
  uint64_t bytes_since_index_entry_ = 0;
  OffsetIndex offset_index_;
  std::string offset_index_path_;  // from the first append or lookup on
  TimeIndex time_index_;
  TransactionIndex transaction_index_;
  TimeIndexEntry largest_;          // so far
  TimeIndexEntry last_time_entry_;  // the newest entry of the time index
  bool timestamps_loaded_ = false;
  bool touched_ = false;  // since it was opened: the indexes end with the last append
  bool name_durable_ = false;
  std::optional<int64_t> first_batch_timestamp_;
  int64_t roll_jitter_ms_ = 0;
  Standing remembered_;

  FileFd file_ = -1;
  uint64_t used_in_sweep_ = 0;
  std::atomic<uint32_t> pins_{0};
};

}  // namespace pelton::storage
