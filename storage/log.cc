#include "storage/log.h"

#include <algorithm>

#include "storage/log_parts.h"

namespace pelton::storage {

void Log::Parts::begin_offline(int64_t log_start, int64_t end) {
  segments.push_back(std::make_unique<Segment>(*storage.descriptors, *storage.index_blocks, directory, end));
  producers = std::make_unique<ProducerState>();
  log_start_offset = std::min(log_start, end);
  next_offset = end;
  written_end = synced_end = {end, end, 0};
  offline = failed = failure_told = true;
  failure = {EBADMSG};
}

Log::Log(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Log::~Log() = default;

AppendResult Log::append(MutableBytes batch, int32_t leader_epoch, AppendOrigin origin,
                         int64_t now_ms, int16_t transaction_version) {
  return parts_->append(batch, leader_epoch, origin, now_ms, transaction_version);
}

Result<FileSlice, proto::ErrorCode> Log::read(int64_t offset, uint32_t max_bytes,
                                              const LogPosition& upper, bool first_batch_whole) {
  return parts_->read(offset, max_bytes, upper, first_batch_whole);
}

std::optional<LogPosition> Log::position_of(int64_t offset) { return parts_->position_of(offset); }

uint64_t Log::bytes_between(const LogPosition& from, const LogPosition& to) const {
  return parts_->bytes_between(from, to);
}

int64_t Log::log_start_offset() const { return parts_->log_start_offset; }
int64_t Log::next_offset() const { return parts_->next_offset; }
const LogPosition& Log::written_end() const { return parts_->written_end; }
const LogPosition& Log::synced_end() const { return parts_->synced_end; }
uint64_t Log::size_bytes() const { return parts_->size_bytes(); }
bool Log::failed() const { return parts_->failed; }
bool Log::offline() const { return parts_->offline; }
int64_t Log::recovery_point() const {
  int64_t synced = parts_->synced_end.offset;
  int64_t aborts = parts_->unsynced_aborts_from;
  return aborts >= 0 ? std::min(synced, aborts) : synced;
}

Result<std::optional<TimestampSearch>, proto::ErrorCode> Log::search_timestamp(int64_t timestamp,
                                                                               const LogPosition& upper,
                                                                               int64_t after_segment) {
  return parts_->search_timestamp(timestamp, upper, after_segment);
}

Result<std::optional<TimestampSearch>, proto::ErrorCode> Log::search_max_timestamp(
    const LogPosition& upper) {
  return parts_->search_max_timestamp(upper);
}

std::optional<LogPosition> Log::first_unstable(int64_t high_watermark) {
  return parts_->first_unstable(high_watermark);
}

Result<std::vector<AbortedTransaction>, proto::ErrorCode> Log::aborted_transactions(
    int64_t offset, const FileSlice& slice) {
  return parts_->aborted_transactions(offset, slice);
}

size_t Log::producer_count() const { return parts_->producers->size(); }

std::vector<ActiveProducer> Log::active_producers() const {
  std::vector<ActiveProducer> all;
  all.reserve(producer_count());
  parts_->producers->for_each([&](int64_t id, const ProducerEntry& entry) {
    int32_t last_sequence = entry.empty() ? proto::kNoSequence : entry.last().last_sequence;
    all.push_back({id, entry.epoch, last_sequence, entry.last_timestamp, entry.coordinator_epoch,
                   entry.transaction_first_offset});
  });
  return all;
}

TransactionStanding Log::transaction_standing(int64_t producer_id, int16_t epoch) const {
  const ProducerEntry* entry = parts_->producers->find(producer_id);
  if (entry == nullptr) return TransactionStanding::kUnknown;
  if (epoch < entry->epoch) return TransactionStanding::kStaleEpoch;
  bool ongoing = entry->transaction_first_offset >= 0 && epoch == entry->epoch;
  return ongoing ? TransactionStanding::kOngoing : TransactionStanding::kUnknown;
}

int32_t Log::latest_epoch() const { return parts_->epochs.latest(); }

void Log::begin_leader_epoch(int32_t leader_epoch) {
  if (parts_->epochs.assign(leader_epoch, parts_->next_offset)) parts_->epochs_unsaved = true;
}

EpochEnd Log::end_of_epoch(int32_t leader_epoch) const {
  return parts_->epochs.end_of(leader_epoch, parts_->next_offset);
}

int32_t Log::epoch_of(int64_t offset) const { return parts_->epochs.epoch_of(offset); }

void Log::set_config(const LogConfig& config) {
  if (parts_->config == config) return;
  parts_->config = config;
  if (parts_->failed || parts_->closed) return;
  // How much may stay unsynced, and for how long, is judged anew at this turn's end.
  parts_->storage.loop.timers().cancel(parts_->flush_timer);
  parts_->storage.appends->mark_dirty(*parts_);
}

int Log::apply_retention(int64_t now_ms, int64_t high_watermark) {
  return parts_->apply_retention(now_ms, high_watermark);
}

void Log::set_log_start_offset(int64_t offset) { parts_->set_log_start_offset(offset); }

Status Log::visit_batches(int64_t from_offset, void* visitor, VisitBatch visit) {
  return parts_->visit_batches(from_offset, visitor, visit);
}

void Log::request_sync() {
  parts_->storage.syncs->want(*parts_, parts_->written_end.offset);
  parts_->storage.syncs->start();
}

Status Log::close() { return parts_->close(); }

const std::string& Log::directory() const { return *parts_->directory; }
int64_t Log::file_delete_delay_ms() const { return parts_->config.file_delete_delay_ms; }
Uuid Log::topic_id() const { return parts_->topic_id; }

}  // namespace pelton::storage
