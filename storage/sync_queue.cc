#include "storage/sync_queue.h"

#include <algorithm>

#include "storage/drain.h"
#include "storage/log_parts.h"

namespace pelton::storage {
namespace {

// The first segment with bytes that are not synced. A synced end at the end of a closed segment is the
// beginning of the next.
size_t first_unsynced(Log::Parts& log) {
  size_t at = log.segment_index(log.synced_end.offset);
  return std::min(at, log.segments.size() - 1);
}

// A log needs its directory's name on disk as well, and that of the segment; a synced one whose end lies
// behind a new name that name, and everything between.
bool needs_directory_sync(Log::Parts& log) {
  if (!log.directory_durable) return true;
  if (log.unsynced_aborts_from >= 0) return true;
  size_t first = first_unsynced(log);
  if (!log.segments[first]->name_durable()) return true;
  if (!log.config.synced()) return false;
  for (size_t i = first; i < log.segments.size(); ++i) {
    if (!log.segments[i]->name_durable()) return true;
  }
  return first + 1 != log.segments.size();
}

}  // namespace

FileSync::FileSync(SyncQueue& queue_)
    : queue(queue_), op(Completion::bind<&FileSync::on_done>(this)) {}

DirectorySync::DirectorySync(SyncQueue& queue_, std::string path_)
    : queue(queue_), path(std::move(path_)), op(Completion::bind<&DirectorySync::on_done>(this)) {}

DirectorySync::~DirectorySync() = default;

SyncQueue::SyncQueue(Io& io, StorageCounters& counters) : io_(io), counters_(counters) {}

SyncQueue::~SyncQueue() {
  drain(io_, [this] { return busy(); });
  for (auto& directory : directories_) io_.files().close(directory->directory);
}

bool SyncQueue::busy() const {
  bool running = !running_file_syncs_.empty();
  for (const auto& directory : directories_) running |= directory->running;
  return running;
}

Result<DirectorySync*> SyncQueue::directory(const std::string& path) {
  for (auto& known : directories_) {
    if (known->path == path) return known.get();
  }
  Result<FileFd> fd = io_.files().open(path, OpenMode::kDirectory);
  if (!fd) return std::unexpected(fd.error());
  directories_.push_back(std::make_unique<DirectorySync>(*this, path));
  directories_.back()->directory = *fd;
  return directories_.back().get();
}

void SyncQueue::want(Log::Parts& log, int64_t offset) {
  if (log.failed || log.closed) return;
  log.sync_goal = std::max(log.sync_goal, offset);
  if (!log.sync_in_flight && !log.ListHook<SyncTag>::is_linked()) wanted_.push_back(log);
}

void SyncQueue::forget(Log::Parts& log) {
  if (log.file_sync != nullptr) log.file_sync->log = nullptr;
  log.file_sync = nullptr;
  if (log.ListHook<SyncTag>::is_linked()) log.ListHook<SyncTag>::unlink();
}

// Sends each wanted log on its way: to its directory's next sync, or to `single`.
void SyncQueue::sort_wanted(SyncList& single) {
  size_t count = running_file_syncs_.size();
  while (!wanted_.empty()) {
    Log::Parts& log = wanted_.front();
    wanted_.pop_front();
    bool all_synced = log.written_end.offset <= log.synced_end.offset && log.unsynced_aborts_from < 0 &&
                      log.directory_durable;
    if (log.failed || all_synced) continue;
    if (needs_directory_sync(log)) {
      log.directory_sync->waiting.push_back(log);
    } else {
      single.push_back(log);
      ++count;
    }
  }
  if (count <= kMaxFileSyncs) return;
  while (!single.empty()) {
    Log::Parts& log = single.front();
    single.pop_front();
    log.directory_sync->waiting.push_back(log);
  }
}

void SyncQueue::start() {
  SyncList single;
  sort_wanted(single);
  while (!single.empty()) {
    Log::Parts& log = single.front();
    single.pop_front();
    start_file_sync(log);
  }
  for (auto& directory : directories_) {
    bool wanted = !directory->waiting.empty() || !directory->waiting_waiters.empty();
    if (directory->running || !wanted) continue;
    if (directory->error < 0) {
      fail_waiting(*directory);
    } else {
      start_directory_sync(*directory);
    }
  }
}

void SyncQueue::start_file_sync(Log::Parts& log) {
  size_t at = first_unsynced(log);
  Segment& segment = *log.segments[at];
  Result<FileFd> fd = segment.file();
  if (!fd) {
    log.fail(fd.error());
    log.storage.appends->mark_dirty(log);
    return;
  }
  if (idle_file_syncs_.empty()) idle_file_syncs_.push_back(std::make_unique<FileSync>(*this));
  running_file_syncs_.push_back(std::move(idle_file_syncs_.back()));
  idle_file_syncs_.pop_back();
  FileSync& sync = *running_file_syncs_.back();
  sync.log = &log;
  sync.pin = SegmentPin(&segment);
  bool last = at + 1 == log.segments.size();
  int64_t next_base = last ? 0 : log.segments[at + 1]->base_offset();
  sync.covers = last ? log.written_end : LogPosition{next_base, next_base, 0};
  log.file_sync = &sync;
  log.sync_in_flight = true;
  log.unsynced_records = 0;
  ++counters_.syncs;
  sync.begun_ns = io_.now_ns();
  io_.sync(*fd, sync.op);
}

void SyncQueue::start_directory_sync(DirectorySync& directory) {
  directory.covered.swap(directory.waiting);
  directory.covered_waiters.swap(directory.waiting_waiters);
  for (Log::Parts& log : directory.covered) {
    log.sync_covers = log.written_end;
    log.sync_in_flight = true;
    log.unsynced_records = 0;
  }
  directory.running = true;
  ++counters_.file_system_syncs;
  directory.begun_ns = io_.now_ns();
  io_.sync_file_system(directory.directory, directory.op);
}

void SyncQueue::fail_waiting(DirectorySync& directory) {
  while (!directory.waiting.empty()) {
    Log::Parts& log = directory.waiting.front();
    directory.waiting.pop_front();
    log.fail({-directory.error});
  }
  DirectorySync::tell_waiters(directory.waiting_waiters, directory.error);
}

void DirectorySync::tell_waiters(FileSystemWaiters& waiters, int32_t result) {
  FileSystemWaiters now;
  now.swap(waiters);
  while (!now.empty()) {
    FileSystemWaiter& waiter = now.front();
    now.pop_front();
    waiter.done(waiter.owner, result);
  }
}

void FileSync::on_done(int32_t result) {
  queue.counters_.sync_times.add(queue.io_.now_ns() - begun_ns);
  Log::Parts* done = std::exchange(log, nullptr);
  pin.reset();
  auto& running = queue.running_file_syncs_;
  auto self = std::find_if(running.begin(), running.end(),
                           [this](const auto& sync) { return sync.get() == this; });
  queue.idle_file_syncs_.push_back(std::move(*self));
  running.erase(self);
  SyncQueue& syncs = queue;
  if (done != nullptr) {
    done->file_sync = nullptr;
    if (result >= 0) {
      SyncQueue::advance(*done, covers);
      if (done->directory_sync->marks) done->directory_sync->marks->flush();
    }
    syncs.finish(*done, result);
  }
  syncs.start();
}

void DirectorySync::on_done(int32_t result) {
  queue.counters_.file_system_sync_times.add(queue.io_.now_ns() - begun_ns);
  running = false;
  error = std::min(error, result);
  if (result < 0 && marks) marks->note_failed_sync();
  if (result >= 0) {
    for (Log::Parts& log : covered) {
      log.directory_durable = true;
      for (auto& segment : log.segments) {
        if (segment->base_offset() <= log.sync_covers.segment_base) segment->set_name_durable();
      }
      log.find_unsynced_aborts(log.sync_covers.segment_base);
      SyncQueue::advance(log, log.sync_covers);
    }
    if (marks) marks->flush();
  }
  while (!covered.empty()) {
    Log::Parts& log = covered.front();
    covered.pop_front();
    queue.finish(log, result);
  }
  tell_waiters(covered_waiters, std::min(result, 0));
  queue.start();
}

void SyncQueue::advance(Log::Parts& log, const LogPosition& covers) {
  if (log.failed || log.closed || covers.offset <= log.synced_end.offset) return;
  log.synced_end = covers;
  log.set_mark();
}

// The observer may do anything to the log, even destroy it: it is told last.
void SyncQueue::finish(Log::Parts& log, int32_t result) {
  log.sync_in_flight = false;
  if (result < 0 && log.directory_sync->marks) log.directory_sync->marks->note_failed_sync();
  if (log.failed || log.closed) return;
  if (result < 0) {
    log.fail({-result});
    log.tell_failure();
    return;
  }
  if (log.synced_end.offset < log.sync_goal) want(log, log.sync_goal);
  log.observer.on_synced();
}

}  // namespace pelton::storage
