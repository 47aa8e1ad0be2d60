#include "storage/producer_state.h"

#include <algorithm>
#include <limits>

#include "proto/batch_builder.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;

constexpr int32_t kMaxSequence = std::numeric_limits<int32_t>::max();

// Sequences wrap from 2^31-1 to 0.
bool follows(int32_t last, int32_t next) {
  return int64_t{next} == int64_t{last} + 1 || (next == 0 && last == kMaxSequence);
}

struct EndMarker {
  int16_t type = -1;
  int32_t coordinator_epoch = -1;
};

// The transaction marker in a control batch; nullopt for any other control record and for an empty
// batch (its marker was cleaned away with the whole transaction).
std::optional<EndMarker> end_marker(const proto::BatchView& batch) {
  constexpr size_t kValueSize = sizeof(int16_t) + sizeof(int32_t);
  if (batch.codec() != proto::Codec::kNone) return std::nullopt;
  proto::RecordIterator records = batch.records();
  proto::RecordView record;
  if (!records.next(record) || !record.key || !record.value) return std::nullopt;
  std::optional<int16_t> type = proto::control_type(*record.key);
  if (!type || record.value->size() < kValueSize) return std::nullopt;
  bool ends = *type == static_cast<int16_t>(proto::ControlType::kAbort) ||
              *type == static_cast<int16_t>(proto::ControlType::kCommit);
  if (!ends) return std::nullopt;
  return EndMarker{*type, load_be<int32_t>(record.value->data() + sizeof(int16_t))};
}

// The first version in which the coordinator raises the epoch before each marker.
constexpr int16_t kEpochPerTransaction = 2;

// A marker that is written again, after an answer that was lost, is let through.
bool stale_epoch(const ProducerEntry& entry, int16_t epoch, int16_t transaction_version) {
  if (transaction_version < kEpochPerTransaction) return epoch < entry.epoch;
  bool again = epoch == entry.epoch && entry.transaction_first_offset < 0;
  return epoch <= entry.epoch && !again;
}

ErrorCode check_marker(const ProducerEntry& entry, const proto::BatchView& batch,
                       int16_t transaction_version) {
  if (stale_epoch(entry, batch.producer_epoch(), transaction_version)) {
    return ErrorCode::kInvalidProducerEpoch;
  }
  std::optional<EndMarker> marker = end_marker(batch);
  if (marker && marker->coordinator_epoch < entry.coordinator_epoch) {
    return ErrorCode::kTransactionCoordinatorFenced;
  }
  return ErrorCode::kNone;
}

// A producer the log does not know may begin with any sequence: its records may have been deleted.
ErrorCode check_sequence(const ProducerEntry& entry, const proto::BatchView& batch) {
  int32_t next = batch.base_sequence();
  if (batch.producer_epoch() != entry.epoch) {
    bool fits = next == 0 || entry.epoch == proto::kNoProducerEpoch;
    return fits ? ErrorCode::kNone : ErrorCode::kOutOfOrderSequenceNumber;
  }
  int32_t last = entry.empty() ? proto::kNoSequence : entry.last().last_sequence;
  return follows(last, next) ? ErrorCode::kNone : ErrorCode::kOutOfOrderSequenceNumber;
}

}  // namespace

int32_t ProducerBatch::first_sequence() const {
  if (last_sequence < 0) return proto::kNoSequence;
  if (last_sequence >= offset_delta) return last_sequence - offset_delta;
  return kMaxSequence - (offset_delta - last_sequence) + 1;
}

const ProducerBatch* ProducerEntry::find(int16_t of_epoch, int32_t first_sequence,
                                         int32_t last_sequence) const {
  if (of_epoch != epoch) return nullptr;
  for (size_t i = 0; i < count_; ++i) {
    const ProducerBatch& batch = batches_[i];
    if (batch.first_sequence() == first_sequence && batch.last_sequence == last_sequence) return &batch;
  }
  return nullptr;
}

void ProducerEntry::set_epoch(int16_t to) {
  if (epoch == to) return;
  epoch = to;
  count_ = 0;
}

void ProducerEntry::add(const ProducerBatch& batch) {
  if (count_ == kBatches) {
    std::move(batches_.begin() + 1, batches_.end(), batches_.begin());
    --count_;
  }
  batches_[count_++] = batch;
  last_timestamp = batch.timestamp;
}

ProducerVerdict ProducerState::check(const proto::BatchView& batch, AppendOrigin origin,
                                     int16_t transaction_version) const {
  static constexpr ProducerEntry kUnknown;
  const ProducerEntry* known = find(batch.producer_id());
  const ProducerEntry& entry = known != nullptr ? *known : kUnknown;
  ProducerVerdict verdict;
  if (batch.control()) {
    verdict.error = check_marker(entry, batch, transaction_version);
    return verdict;
  }
  if (origin == AppendOrigin::kClient) {
    const ProducerBatch* same =
        entry.find(batch.producer_epoch(), batch.base_sequence(), batch.last_sequence());
    if (same != nullptr) {
      verdict.duplicate = *same;
      return verdict;
    }
  }
  if (batch.producer_epoch() < entry.epoch) {
    verdict.error = ErrorCode::kInvalidProducerEpoch;
  } else if (origin == AppendOrigin::kClient) {
    verdict.error = check_sequence(entry, batch);
  }
  if (verdict.error == ErrorCode::kNone && entry.transaction_first_offset >= 0 &&
      !batch.transactional()) {
    verdict.error = ErrorCode::kInvalidTxnState;
  }
  return verdict;
}

std::optional<CompletedTransaction> ProducerState::apply(const proto::BatchView& batch,
                                                         const LogPosition& place) {
  end_offset_ = batch.next_offset();
  if (!batch.has_producer_id()) return std::nullopt;
  if (remembering_) {
    const ProducerEntry* known = find(batch.producer_id());
    before_.emplace_back(batch.producer_id(), known ? std::optional(*known) : std::nullopt);
  }
  if (!batch.control()) {
    ProducerEntry& entry = producers_[batch.producer_id()];
    entry.set_epoch(batch.producer_epoch());
    entry.add({batch.last_sequence(), batch.last_offset(), batch.last_offset_delta(),
               batch.max_timestamp()});
    if (batch.transactional() && entry.transaction_first_offset < 0) {
      entry.transaction_first_offset = batch.base_offset();
      open_[batch.base_offset()] = place;
    }
    return std::nullopt;
  }
  std::optional<EndMarker> marker = end_marker(batch);
  if (!marker) return std::nullopt;
  ProducerEntry& entry = producers_[batch.producer_id()];
  std::optional<CompletedTransaction> completed;
  if (auto open = open_.find(entry.transaction_first_offset); open != open_.end()) {
    completed = {batch.producer_id(), open->second, batch.base_offset(),
                 marker->type == static_cast<int16_t>(proto::ControlType::kAbort)};
    open_.erase(open);
  }
  entry.set_epoch(batch.producer_epoch());
  entry.coordinator_epoch = marker->coordinator_epoch;
  entry.last_timestamp = batch.max_timestamp();
  entry.transaction_first_offset = -1;
  return completed;
}

void ProducerState::remember() {
  constexpr size_t kKept = 64;
  remembering_ = true;
  if (before_.capacity() > kKept) before_ = {};
  before_.clear();
}

void ProducerState::go_back(int64_t end_offset) {
  for (; !before_.empty(); before_.pop_back()) {
    auto& [id, entry] = before_.back();
    if (entry) {
      producers_[id] = *entry;
    } else {
      producers_.erase(id);
    }
  }
  for (; !ended_.empty() && ended_.back().last_offset >= end_offset; ended_.pop_back()) {
    const LogPosition& first = ended_.back().first;
    open_[first.offset] = first;
  }
  open_.erase(open_.lower_bound(end_offset), open_.end());
  end_offset_ = end_offset;
}

std::optional<LogPosition> ProducerState::first_open_transaction() const {
  if (open_.empty()) return std::nullopt;
  return open_.begin()->second;
}

void ProducerState::await_commit(const CompletedTransaction& completed) {
  ended_.push_back({completed.last_offset, completed.first});
}

std::optional<LogPosition> ProducerState::first_unstable(int64_t high_watermark) {
  while (!ended_.empty() && ended_.front().last_offset < high_watermark) ended_.pop_front();
  std::optional<LogPosition> first = first_open_transaction();
  for (const Ended& ended : ended_) {
    if (!first || ended.first.offset < first->offset) first = ended.first;
  }
  return first;
}

void ProducerState::expire(int64_t now_ms, int64_t expiration_ms) {
  std::erase_if(producers_, [&](const auto& pair) {
    const ProducerEntry& entry = pair.second;
    // Not by their difference: a client's timestamp may be anything.
    return entry.transaction_first_offset < 0 && entry.last_timestamp <= now_ms - expiration_ms;
  });
}

void ProducerState::put(int64_t producer_id, const ProducerEntry& entry) {
  producers_[producer_id] = entry;
  int64_t first = entry.transaction_first_offset;
  if (first >= 0) open_[first] = {first, kUnknownSegment, 0};
}

const ProducerEntry* ProducerState::find(int64_t producer_id) const {
  auto found = producers_.find(producer_id);
  return found == producers_.end() ? nullptr : &found->second;
}

std::vector<std::pair<int64_t, ProducerEntry>> ProducerState::sorted() const {
  std::vector<std::pair<int64_t, ProducerEntry>> all(producers_.begin(), producers_.end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

}  // namespace pelton::storage
