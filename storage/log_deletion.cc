#include "storage/log_deletion.h"

#include <algorithm>
#include <iterator>

#include "storage/drain.h"

namespace pelton::storage {

LogDeletion::LogDeletion(Loop& loop, SyncQueue& syncs)
    : loop_(loop),
      syncs_(syncs),
      timer_(Timer::bind<&LogDeletion::on_due>(this)),
      unlink_(Completion::bind<&LogDeletion::on_unlinked>(this)) {
  synced_.owner = this;
  synced_.done = [](void* self, int32_t result) { static_cast<LogDeletion*>(self)->on_synced(result); };
}

LogDeletion::~LogDeletion() {
  loop_.timers().cancel(timer_);
  current_ = {};
  waiting_.clear();
  drain(loop_.io(), [this] { return unlink_.done.pending(); });
}

void LogDeletion::delete_files(std::vector<std::string> paths, int64_t delay_ms, DirectorySync* renamed_in) {
  if (!paths.empty()) add({std::move(paths), {}, renamed_in}, delay_ms);
}

void LogDeletion::delete_directory(std::string path, int64_t delay_ms) {
  add({{}, std::move(path), nullptr}, delay_ms);
}

void LogDeletion::add(Doomed doomed, int64_t delay_ms) {
  constexpr int64_t kMaxMs = int64_t{1} << 40;
  uint64_t delay_ns = static_cast<uint64_t>(std::clamp<int64_t>(delay_ms, 0, kMaxMs)) * 1'000'000;
  waiting_.emplace(loop_.now_ns() + delay_ns, std::move(doomed));
  start_timer();
}

void LogDeletion::start_timer() {
  if (waiting_.empty() || busy()) return;
  loop_.timers().start(timer_, waiting_.begin()->first);
}

void LogDeletion::on_due() {
  if (busy() || waiting_.empty()) return;
  take_due();
  if (current_.renamed_in == nullptr) return begin();
  syncs_.want(*current_.renamed_in, synced_);
  syncs_.start();
}

// Files that are due together need one sync.
void LogDeletion::take_due() {
  uint64_t now_ns = loop_.now_ns();
  current_ = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  while (!waiting_.empty() && waiting_.begin()->first <= now_ns) {
    Doomed& next = waiting_.begin()->second;
    if (!current_.directory.empty() || !next.directory.empty() || next.renamed_in != current_.renamed_in) return;
    std::move(next.files.begin(), next.files.end(), std::back_inserter(current_.files));
    waiting_.erase(waiting_.begin());
  }
}

void LogDeletion::on_synced(int32_t result) {
  if (result < 0) current_ = {};  // the next start sees to them
  begin();
}

void LogDeletion::begin() {
  if (!current_.directory.empty()) {
    auto entries = loop_.io().files().list(current_.directory);
    if (entries) {
      for (const DirectoryEntry& entry : *entries) {
        current_.files.push_back(current_.directory + "/" + entry.name);
      }
    }
  }
  step();
}

// What cannot be removed now is left to the next start.
void LogDeletion::step() {
  if (!current_.files.empty()) {
    unlinking_ = std::move(current_.files.back());
    current_.files.pop_back();
    loop_.io().unlink(unlinking_.c_str(), unlink_);
    return;
  }
  if (!current_.directory.empty()) (void)loop_.io().files().remove_directory(current_.directory);
  current_ = {};
  start_timer();
}

void LogDeletion::on_unlinked(int32_t) { step(); }

}  // namespace pelton::storage
