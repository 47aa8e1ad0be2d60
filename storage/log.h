// Log: one partition's log in its directory: segments, indexes, producer state, leader epochs.
// Knows offsets and bytes, not requests; who may read how far is the broker's business.
//
// Owner shard: one, for its whole life. Lifetime: owned by the broker's partition; outlives its pins
// and its pending writes (close first).
// Invariants: log start <= synced end <= written end <= next offset. Published bytes never change in
// place. The file size never exceeds the written bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/batch.h"
#include "proto/error_code.h"
#include "reactor/base/bytes.h"
#include "reactor/base/result.h"
#include "reactor/base/uuid.h"
#include "storage/file_slice.h"
#include "storage/log_config.h"

namespace pelton::storage {

struct AbortedTransaction;  // transaction_index.h
struct ShardStorage;        // the shard's append queue, descriptor cache and io (shard_storage.h)
struct TimestampSearch;     // timestamp_search.h

// A place in the log: an offset and where its batch begins (or would begin).
struct LogPosition {
  int64_t offset = 0;
  int64_t segment_base = 0;
  uint64_t position = 0;  // bytes from the segment's start
};

// Told by the append queue at the end of a turn and by sync completions; the partition implements it.
class LogObserver {
 public:
  virtual ~LogObserver() = default;
  virtual void on_written() = 0;               // written_end() moved
  virtual void on_synced() = 0;                // synced_end() moved
  // A full disk, or the like: what was queued is not in the log, which ends at written_end() again and takes
  // nothing for a moment.
  virtual void on_suspended(SysError error) = 0;
  // A write or sync failed: nothing pending was made durable, the log takes no more appends. Never retried.
  virtual void on_log_failed(SysError error) = 0;
};

enum class AppendOrigin { kClient, kCoordinator };

struct AppendResult {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  bool duplicate = false;         // already in the log: the offsets are those of the first time
  int64_t base_offset = -1;
  int64_t last_offset = -1;
  int64_t log_append_time = -1;   // -1 unless the topic stamps append time
};

struct TimestampOffset {
  int64_t timestamp = -1;
  int64_t offset = -1;
  int32_t leader_epoch = -1;
};

// What the log knows of a producer.
struct ActiveProducer {
  int64_t producer_id = -1;
  int16_t epoch = -1;
  int32_t last_sequence = -1;
  int64_t last_timestamp = -1;
  int32_t coordinator_epoch = -1;
  int64_t transaction_first_offset = -1;  // -1: no transaction is ongoing
};

// May a transactional batch be appended without asking the transaction's coordinator?
enum class TransactionStanding {
  kOngoing,     // yes: a transaction of this epoch is ongoing here
  kStaleEpoch,  // never: a later epoch was seen
  kUnknown,     // the coordinator has to know of the partition
};

struct EpochEnd {
  int32_t leader_epoch = -1;
  int64_t end_offset = -1;
};

class Log {
 public:
  ~Log();

  // Appends one batch that proto::validate has passed. Checks the producer's epoch and sequence, stamps
  // base offset and leader epoch in place, queues the bytes for the write at this turn's end: they must
  // stay in memory until on_written, on_suspended or on_log_failed. Errors: kOutOfOrderSequenceNumber,
  // kInvalidProducerEpoch, kTransactionCoordinatorFenced, kInvalidTxnState, kRecordListTooLarge (does not
  // fit in a segment), kKafkaStorageError (the log has failed, or the disk is full).
  // transaction_version: of the coordinator that sends a transaction's marker.
  AppendResult append(MutableBytes batch, int32_t leader_epoch, AppendOrigin origin, int64_t now_ms,
                      int16_t transaction_version = 0);

  // Bytes from `offset` up to `upper` (exclusive), at most max_bytes, from one segment; the first batch
  // whole when first_batch_whole, even past max_bytes. The slice starts at the batch that holds `offset`.
  // Empty slice: nothing below upper, or nothing fits. Errors: kOffsetOutOfRange, kKafkaStorageError.
  Result<FileSlice, proto::ErrorCode> read(int64_t offset, uint32_t max_bytes,
                                           const LogPosition& upper, bool first_batch_whole);
  // Where `offset`'s batch begins; for counting the bytes between two offsets without reading them.
  // nullopt when it is not in the log.
  std::optional<LogPosition> position_of(int64_t offset);
  // Bytes between two places of this log, across segments.
  uint64_t bytes_between(const LogPosition& from, const LogPosition& to) const;

  int64_t log_start_offset() const;
  int64_t next_offset() const;               // includes what is queued but not yet written
  const LogPosition& written_end() const;    // readers may go no further than this
  const LogPosition& synced_end() const;     // on stable storage
  uint64_t size_bytes() const;
  bool failed() const;
  // Its files are damaged or not there: it was failed from the start and gives nothing.
  bool offline() const;
  // From where on a start after a crash has to look at the batches.
  int64_t recovery_point() const;

  // Lookups by time, in steps: the owner finds what is to be searched, whoever has the time searches it
  // (timestamp_search.h). Errors: kKafkaStorageError.
  // The next segment after `after_segment` that may hold the first record at or after `timestamp` and before
  // `upper`; nullopt: there is none.
  Result<std::optional<TimestampSearch>, proto::ErrorCode> search_timestamp(int64_t timestamp,
                                                                            const LogPosition& upper,
                                                                            int64_t after_segment = -1);
  // For the record with the largest timestamp before `upper` (ListOffsets' -3): one batch.
  Result<std::optional<TimestampSearch>, proto::ErrorCode> search_max_timestamp(const LogPosition& upper);

  // Where the oldest transaction begins that is open, or whose end is not below `high_watermark` (which
  // never goes back from call to call); not before the log start. nullopt: none.
  std::optional<LogPosition> first_unstable(int64_t high_watermark);
  // The aborted transactions that a reader of `slice`, which read() gave for `offset`, has to know. Some may
  // lie behind the slice. Errors: kKafkaStorageError.
  Result<std::vector<AbortedTransaction>, proto::ErrorCode> aborted_transactions(
      int64_t offset, const FileSlice& slice);
  size_t producer_count() const;
  // In no order.
  std::vector<ActiveProducer> active_producers() const;
  TransactionStanding transaction_standing(int64_t producer_id, int16_t epoch) const;

  // Leader epochs: the last known, and Kafka's OffsetForLeaderEpoch rule (the largest epoch <= asked and
  // where it ends).
  int32_t latest_epoch() const;
  // The partition leads in this epoch from now on: the epoch is known before its first record.
  void begin_leader_epoch(int32_t leader_epoch);
  EpochEnd end_of_epoch(int32_t leader_epoch) const;
  // The epoch a record at `offset` was written in, -1 when unknown.
  int32_t epoch_of(int64_t offset) const;

  // In force at once; what lies unsynced is synced when the new flush.messages or flush.ms asks for it.
  void set_config(const LogConfig& config);
  // Deletes whole segments past the size and time limits or before the log start (never beyond
  // `high_watermark`), a bounded number of them; returns how many: when there were any, there may be more.
  int apply_retention(int64_t now_ms, int64_t high_watermark);
  // Raises the log start (DeleteRecords, retention).
  void set_log_start_offset(int64_t offset);

  // Reads whole batches one after another, for replay (metadata, coordinators). Calls
  // visit(Bytes batch) until it returns false or the end; blocking reads, start-up and loading only.
  template <class Visit>
  Status for_each_batch(int64_t from_offset, Visit&& visit);

  // Starts a sync when something written, or the names of a new log, is not synced and none is running;
  // on_synced follows.
  void request_sync();
  // Blocking: writes and syncs everything, trims indexes, writes the producer snapshot. No appends after.
  Status close();

  const std::string& directory() const;
  int64_t file_delete_delay_ms() const;
  Uuid topic_id() const;

  struct Parts;  // log_parts.h: segments, indexes, producer state; for storage/ only
  Log(std::unique_ptr<Parts> parts);

 private:
  using VisitBatch = bool (*)(void* visitor, Bytes batch);
  Status visit_batches(int64_t from_offset, void* visitor, VisitBatch visit);

  std::unique_ptr<Parts> parts_;
};

template <class Visit>
Status Log::for_each_batch(int64_t from_offset, Visit&& visit) {
  return visit_batches(from_offset, &visit, [](void* visitor, Bytes batch) {
    return (*static_cast<std::remove_reference_t<Visit>*>(visitor))(batch);
  });
}

}  // namespace pelton::storage
