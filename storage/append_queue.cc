#include "storage/append_queue.h"

#include <algorithm>
#include <utility>

#include "storage/log_parts.h"

namespace pelton::storage {
namespace {

constexpr size_t kMaxPieces = 1024;                   // IOV_MAX
constexpr size_t kSpareWrites = 64;                   // kept for the next turns
constexpr uint64_t kWritebackStep = uint64_t{8} << 20;  // dirty pages of one segment stay below that

}  // namespace

AppendQueue::AppendQueue(Loop& loop, SyncQueue& syncs, StorageCounters& counters)
    : loop_(loop),
      syncs_(syncs),
      counters_(counters),
      write_end_(TurnEnd::bind<&AppendQueue::write_all>(this, kPhaseWrite)) {}

AppendQueue::~AppendQueue() = default;

void AppendQueue::add(Log::Parts& log, MutableBytes batch, int32_t records) {
  if (!log.pending) {
    if (spare_.empty()) {
      log.pending = std::make_unique<PendingWrite>();
    } else {
      log.pending = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  log.pending->pieces.push_back({batch.data(), batch.size()});
  log.pending->bytes += batch.size();
  log.pending->records += static_cast<uint64_t>(std::max(records, 1));
  mark_dirty(log);
}

void AppendQueue::mark_dirty(Log::Parts& log) {
  if (!log.ListHook<DirtyTag>::is_linked()) dirty_.push_back(log);
  loop_.at_turn_end(write_end_);
}

void AppendQueue::drop(Log::Parts& log) {
  if (!log.pending) return;
  log.pending->pieces.clear();
  log.pending->bytes = 0;
  log.pending->records = 0;
  if (spare_.size() < kSpareWrites) spare_.push_back(std::move(log.pending));
  log.pending.reset();
}

Status AppendQueue::write_pieces(Log::Parts& log, FileFd file, uint64_t position) {
  const std::vector<iovec>& pieces = log.pending->pieces;
  for (size_t at = 0; at < pieces.size();) {
    size_t count = std::min(pieces.size() - at, kMaxPieces);
    Status wrote = log.files.pwritev(file, &pieces[at], static_cast<int>(count), position);
    if (!wrote) return wrote;
    ++counters_.writes;
    for (size_t end = at + count; at < end; ++at) position += pieces[at].iov_len;
  }
  counters_.bytes_written += log.pending->bytes;
  return {};
}

// Dirty pages that pile up make the kernel stop the writer some day; topics that are synced after each
// batch have none.
void AppendQueue::write_back(Log::Parts& log, FileFd file) {
  if (log.config.synced()) return;
  uint64_t end = log.active().written();
  if (end - log.written_back < kWritebackStep) return;
  log.files.start_writeback(file, log.written_back, end - log.written_back);
  log.written_back = end;
}

Status AppendQueue::write(Log::Parts& log) {
  if (log.failed) return std::unexpected(log.failure);
  if (!log.pending) return {};
  Segment& active = log.active();
  active.reserve_ahead(log.pending->bytes, static_cast<uint64_t>(log.config.segment_bytes));
  Result<FileFd> file = active.file();
  Status wrote = file ? write_pieces(log, *file, active.written())
                      : Status(std::unexpected(file.error()));
  if (!wrote) {
    log.take_back(wrote.error(), /*cut=*/file.has_value());
    return wrote;
  }
  active.set_written(active.size());
  log.written_end = {log.next_offset, active.base_offset(), active.written()};
  log.unsynced_records += log.pending->records;
  drop(log);
  write_back(log, *file);
  Status indexes = active.flush_indexes(false);
  if (indexes) indexes = log.flush_epochs();
  // The batches are written whatever becomes of the rest, which is tried again with the next.
  if (!indexes) log.suspend_or_fail(indexes.error());
  return log.failed ? indexes : Status();
}

void AppendQueue::after_write(Log::Parts& log) {
  const LogConfig& config = log.config;
  if (log.written_end.offset <= log.synced_end.offset) return;
  if (log.unsynced_records >= static_cast<uint64_t>(std::max<int64_t>(config.flush_messages, 1))) {
    syncs_.want(log, log.written_end.offset);
  } else if (config.flush_ms != kFlushNever && !log.flush_timer.active()) {
    constexpr int64_t kMaxMs = int64_t{1} << 40;
    uint64_t wait = static_cast<uint64_t>(std::clamp<int64_t>(config.flush_ms, 0, kMaxMs)) * 1'000'000;
    loop_.timers().start(log.flush_timer, loop_.now_ns() + wait);
  }
}

// Observers append again, close or destroy logs: the list is taken first and a log is not touched after
// its observer was told.
void AppendQueue::write_all() {
  IntrusiveList<Log::Parts, DirtyTag> now;
  now.swap(dirty_);
  while (!now.empty()) {
    Log::Parts& log = now.front();
    now.pop_front();
    Status wrote = write(log);
    if (log.failed) {
      log.tell_failure();
      continue;
    }
    if (log.suspended) {
      // What was written before it is told at the next turn's end.
      mark_dirty(log);
      log.observer.on_suspended(*std::exchange(log.suspended, std::nullopt));
      continue;
    }
    if (!wrote) continue;
    after_write(log);
    log.observer.on_written();
  }
  syncs_.start();
}

}  // namespace pelton::storage
