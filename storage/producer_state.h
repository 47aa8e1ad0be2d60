// ProducerState: what a partition remembers of its producers, so that a batch that is sent again is
// recognized and a gap is refused: for each producer id its epoch, its last five batches and the offset
// where its current transaction began. The rules are Apache Kafka's.
//
// Owner shard: the log's. Lifetime: a part of the log, made when first needed.
// Invariant: it stands for the log up to end_offset(), queued batches included.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "proto/batch.h"
#include "proto/error_code.h"
#include "storage/log.h"

namespace pelton::storage {

struct ProducerBatch {
  int32_t last_sequence = -1;
  int64_t last_offset = -1;
  int32_t offset_delta = 0;
  int64_t timestamp = -1;

  int64_t first_offset() const { return last_offset - offset_delta; }
  int32_t first_sequence() const;
};

class ProducerEntry {
 public:
  static constexpr size_t kBatches = 5;

  bool empty() const { return count_ == 0; }
  // The newest batch; not empty().
  const ProducerBatch& last() const { return batches_[count_ - 1]; }
  const ProducerBatch* find(int16_t of_epoch, int32_t first_sequence, int32_t last_sequence) const;
  // A new epoch forgets the batches of the old one.
  void set_epoch(int16_t to);
  void add(const ProducerBatch& batch);

  int16_t epoch = -1;
  int32_t coordinator_epoch = -1;
  int64_t last_timestamp = -1;
  int64_t transaction_first_offset = -1;  // -1: no transaction is ongoing

 private:
  std::array<ProducerBatch, kBatches> batches_;
  size_t count_ = 0;
};

struct ProducerVerdict {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::optional<ProducerBatch> duplicate;
};

struct CompletedTransaction {
  int64_t producer_id = -1;
  LogPosition first;         // of its first batch
  int64_t last_offset = -1;  // the marker's
  bool aborted = false;
};

// The segment of a position of which only the offset is known (it comes from a snapshot).
inline constexpr int64_t kUnknownSegment = -1;

class ProducerState {
 public:
  // May this batch (validated, with a producer id) be appended? Coordinators' batches carry no sequence.
  // From transaction_version 2 on each transaction has an epoch of its own, so that a late marker is known.
  ProducerVerdict check(const proto::BatchView& batch, AppendOrigin origin,
                        int16_t transaction_version = 0) const;
  // Takes a batch that is (or will be) in the log at `place`; its base offset is stamped. Returns the
  // transaction that it ends, if any.
  std::optional<CompletedTransaction> apply(const proto::BatchView& batch, const LogPosition& place);

  // What apply() does from now on can be taken back.
  void remember();
  // Takes back every batch from `end_offset` on, where remember() was called.
  void go_back(int64_t end_offset);

  int64_t end_offset() const { return end_offset_; }
  void set_end_offset(int64_t offset) { end_offset_ = offset; }

  // Where the oldest transaction that is still open begins.
  std::optional<LogPosition> first_open_transaction() const;
  // The marker is in the log, but not below the high watermark yet: until then the transaction counts as
  // undecided (first_unstable).
  void await_commit(const CompletedTransaction& completed);
  // Where the oldest transaction begins that is open or whose marker is not below `high_watermark`, which
  // never goes back from call to call.
  std::optional<LogPosition> first_unstable(int64_t high_watermark);
  // Forgets producers that have written nothing for so long and have no open transaction.
  void expire(int64_t now_ms, int64_t expiration_ms);

  size_t size() const { return producers_.size(); }
  const ProducerEntry* find(int64_t producer_id) const;
  void put(int64_t producer_id, const ProducerEntry& entry);
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [id, entry] : producers_) visit(id, entry);
  }
  // In the order of their ids.
  std::vector<std::pair<int64_t, ProducerEntry>> sorted() const;

 private:
  struct Ended {
    int64_t last_offset;
    LogPosition first;
  };

  std::unordered_map<int64_t, ProducerEntry> producers_;
  std::map<int64_t, LogPosition> open_;  // by their first offset
  std::deque<Ended> ended_;              // in the order of their markers
  bool remembering_ = false;
  // Producers before they were changed; no entry: they were not known.
  std::vector<std::pair<int64_t, std::optional<ProducerEntry>>> before_;
  int64_t end_offset_ = 0;
};

}  // namespace pelton::storage
