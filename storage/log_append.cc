// Log::Parts, the writing half: append, roll, close, failure.
#include <algorithm>

#include "storage/checkpoint.h"
#include "storage/log_parts.h"

namespace pelton::storage {

using proto::ErrorCode;

Log::Parts::Parts(ShardStorage& storage_, LogObserver& observer_, const std::string& data_directory,
                  const std::string& directory_name, Uuid topic_id_, const LogConfig& config_)
    : storage(storage_),
      files(storage_.descriptors->files()),
      observer(observer_),
      directory(std::make_shared<const std::string>(data_directory + "/" + directory_name)),
      topic_id(topic_id_),
      config(config_),
      flush_timer(Timer::bind<&Parts::on_flush_due>(this)) {}

Log::Parts::~Parts() {
  storage.loop.timers().cancel(flush_timer);
  storage.syncs->forget(*this);
  storage.appends->drop(*this);
  if (mark) directory_sync->marks->release(*mark);
  for (auto& segment : segments) storage.descriptors->bury(std::move(segment));
}

void Log::Parts::add_mark(int32_t partition, int64_t offset) {
  if (directory_sync == nullptr || !directory_sync->marks || topic_id.is_zero()) return;
  mark = directory_sync->marks->add({topic_id, partition, offset});
}

void Log::Parts::set_mark() {
  if (mark) directory_sync->marks->set(*mark, synced_end.offset);
}

void Log::Parts::fail(SysError error) {
  if (failed) return;
  failed = true;
  failure = error;
  storage.appends->drop(*this);
  // The observer is never called from inside append.
  storage.appends->mark_dirty(*this);
}

void Log::Parts::tell_failure() {
  if (!failed || failure_told || closed) return;
  failure_told = true;
  observer.on_log_failed(failure);
}

namespace {

constexpr uint64_t kSuspendedNs = 1'000'000'000;

bool passes(SysError error) {
  switch (error.code) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Log::Parts::suspend_or_fail(SysError error) {
  if (!passes(error)) return fail(error);
  refuses_until_ns = storage.loop.now_ns() + kSuspendedNs;
  suspended = error;
  storage.appends->mark_dirty(*this);
}

void Log::Parts::take_back(SysError error, bool cut) {
  storage.appends->drop(*this);
  if (Status back = active().go_back(cut); !back) return fail(back.error());
  next_offset = written_end.offset;
  producers->go_back(next_offset);
  for (Recent& entry : recent) {
    if (entry.place.last_offset >= next_offset) entry.segment_base = -1;
  }
  suspend_or_fail(error);
}

AppendResult Log::Parts::append(MutableBytes batch, int32_t leader_epoch, AppendOrigin origin,
                                int64_t now_ms, int16_t transaction_version) {
  AppendResult result;
  auto refuse = [&](ErrorCode error) {
    result.error = error;
    return result;
  };
  auto fail_with = [&](SysError error) {
    suspend_or_fail(error);
    return refuse(ErrorCode::kKafkaStorageError);
  };
  if (failed || closed) return refuse(ErrorCode::kKafkaStorageError);
  if (storage.loop.now_ns() < refuses_until_ns) return refuse(ErrorCode::kKafkaStorageError);
  proto::BatchView view{Bytes(batch)};
  if (view.size() > static_cast<uint64_t>(config.segment_bytes)) {
    return refuse(ErrorCode::kRecordListTooLarge);
  }
  if (view.has_producer_id()) {
    ProducerVerdict verdict = producers->check(view, origin, transaction_version);
    if (verdict.error != ErrorCode::kNone) return refuse(verdict.error);
    if (verdict.duplicate) {
      result.duplicate = true;
      result.base_offset = verdict.duplicate->first_offset();
      result.last_offset = verdict.duplicate->last_offset;
      result.log_append_time = verdict.duplicate->timestamp;
      return result;
    }
  }
  if (config.log_append_time && !view.control()) {
    proto::set_max_timestamp_and_log_append_time(batch, now_ms);
    result.log_append_time = now_ms;
  }
  result.base_offset = next_offset;
  result.last_offset = next_offset + view.last_offset_delta();
  Result<bool> full = active().must_roll(view, result.last_offset, config, now_ms);
  if (!full) return fail_with(full.error());
  if (*full) {
    if (Status rolled = roll(); !rolled) return fail_with(rolled.error());
  }
  if (!pending) {
    active().remember();
    producers->remember();
  }
  proto::set_base_offset(batch, next_offset);
  proto::set_partition_leader_epoch(batch, leader_epoch);
  uint64_t position = active().size();
  if (Status noted = active().note_append(view, config.index_interval_bytes); !noted) {
    fail(noted.error());
    return refuse(ErrorCode::kKafkaStorageError);
  }
  if (view.has_producer_id()) {
    auto completed = apply_to_producers(view, active(), position);
    if (!completed) {
      fail(completed.error());
      return refuse(ErrorCode::kKafkaStorageError);
    }
    if (*completed) producers->await_commit(**completed);
  }
  if (epochs.assign(leader_epoch, next_offset) || epochs_unsaved) epochs_dirty = true;
  epochs_unsaved = false;
  recent[recent_at] = {active().base_offset(),
                       {next_offset, result.last_offset, position, static_cast<uint32_t>(view.size())}};
  recent_at = (recent_at + 1) % kRecent;
  next_offset = result.last_offset + 1;
  storage.appends->add(*this, batch.first(view.size()), view.count());
  return result;
}

// Ends the active segment and begins the next at the log's end. What is queued belongs to the old one and
// is written first; the new file's name becomes durable with the next sync.
Status Log::Parts::roll() {
  CHECK(active().size() > 0, "an empty segment is never rolled");
  if (Status wrote = storage.appends->write(*this); !wrote) return wrote;
  if (Status finished = active().finish(); !finished) return finished;
  producers->expire(storage.loop.wall_ms(), config.producer_id_expiration_ms);
  producers->set_end_offset(next_offset);
  if (Status wrote = write_snapshot(next_offset); !wrote) return wrote;
  bool aborts = active().transaction_index().file().entries() > 0;
  auto segment = std::make_unique<Segment>(*storage.descriptors, *storage.index_blocks, directory,
                                           next_offset);
  if (Status created = segment->create(); !created) return created;
  if (aborts && unsynced_aborts_from < 0) unsynced_aborts_from = active().base_offset();
  segments.push_back(std::move(segment));
  draw_roll_jitter();
  written_back = 0;
  LogPosition end{next_offset, next_offset, 0};
  written_end = end;
  if (synced_end.offset == next_offset) synced_end = end;
  // Apache Kafka brings a rolled segment to disk whatever flush.messages says.
  storage.syncs->want(*this, next_offset);
  storage.appends->mark_dirty(*this);
  return {};
}

// A segment keeps what it drew when it became the active one.
void Log::Parts::draw_roll_jitter() {
  int64_t most = std::min(config.segment_jitter_ms, config.segment_ms);
  if (most <= 0) return;
  uint64_t drawn = storage.loop.io().random() % static_cast<uint64_t>(most);
  active().set_roll_jitter(static_cast<int64_t>(drawn));
}

Status Log::Parts::flush_epochs() {
  if (!epochs_dirty) return {};
  // Recovery finds in the batches what a power loss takes from this file.
  Status wrote = replace_file_unsynced(files, path(kLeaderEpochCheckpoint),
                                       format_leader_epochs(epochs.entries()));
  if (wrote) epochs_dirty = false;
  return wrote;
}

// Blocking: the unsynced segments in order, then their names.
Status Log::Parts::sync_all() {
  if (synced_end.offset == next_offset) return {};
  bool names_durable = true;
  for (size_t i = segment_index(synced_end.offset); i < segments.size(); ++i) {
    Result<FileFd> fd = segments[i]->file();
    if (!fd) return std::unexpected(fd.error());
    if (Status synced = files.sync(*fd); !synced) return synced;
    names_durable &= segments[i]->name_durable();
  }
  return names_durable ? Status() : files.sync_directory(*directory);
}

Status Log::Parts::close() {
  if (failed) return std::unexpected(failure);
  if (closed) return {};
  if (Status wrote = storage.appends->write(*this); !wrote) return wrote;
  if (Status synced = sync_all(); !synced) {
    if (directory_sync->marks) directory_sync->marks->note_failed_sync();
    return synced;
  }
  synced_end = written_end;
  // A new log has its names with the sync of the clean stop.
  if (directory_durable) set_mark();
  if (mark) directory_sync->marks->flush();
  if (Status finished = active().finish(); !finished) return finished;
  if (Status flushed = flush_epochs(); !flushed) return flushed;
  if (snapshot_offset != next_offset) {
    if (Status wrote = write_snapshot(next_offset); !wrote) return wrote;
  }
  closed = true;
  // A slice, or a sync still in flight, keeps its file until it is done.
  for (auto& segment : segments) {
    if (!segment->pinned()) storage.descriptors->close(*segment);
  }
  return {};
}

void Log::Parts::on_flush_due() {
  storage.syncs->want(*this, written_end.offset);
  storage.syncs->start();
}

}  // namespace pelton::storage
