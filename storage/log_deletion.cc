#include "storage/log_deletion.h"

#include <algorithm>
#include <iterator>

#include "reactor/base/log.h"
#include "storage/checkpoint.h"
#include "storage/drain.h"

namespace pelton::storage {
namespace {

constexpr uint64_t kLeastPauseNs = 1'000'000;

}  // namespace

LogDeletion::LogDeletion(Loop& loop, SyncQueue& syncs)
    : loop_(loop),
      syncs_(syncs),
      timer_(Timer::bind<&LogDeletion::on_due>(this)),
      unlink_(Completion::bind<&LogDeletion::on_unlinked>(this)),
      remove_(Completion::bind<&LogDeletion::on_removed>(this)) {
  synced_.owner = this;
  synced_.done = [](void* self, int32_t result) { static_cast<LogDeletion*>(self)->on_synced(result); };
}

LogDeletion::~LogDeletion() {
  loop_.timers().cancel(timer_);
  current_ = {};
  waiting_.clear();
  drain(loop_.io(), [this] { return unlink_.done.pending() || remove_.done.pending(); });
}

void LogDeletion::delete_files(std::vector<std::string> paths, int64_t delay_ms, DirectorySync* renamed_in) {
  if (!paths.empty()) add({.files = std::move(paths), .renamed_in = renamed_in}, delay_ms);
}

void LogDeletion::delete_directory(std::string path, int64_t delay_ms) {
  add({.directories = {{std::move(path)}}}, delay_ms);
}

void LogDeletion::delete_leftovers(std::vector<std::string> directories) {
  if (directories.empty()) return;
  log_info("{} directories of deleted partitions are being removed", directories.size());
  leftovers_ = std::move(directories);
  next_leftover(0);
  start_timer();
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
    bool files_alone = current_.directories.empty() && next.directories.empty();
    if (!files_alone || next.renamed_in != current_.renamed_in) return;
    std::move(next.files.begin(), next.files.end(), std::back_inserter(current_.files));
    waiting_.erase(waiting_.begin());
  }
}

void LogDeletion::on_synced(int32_t result) {
  if (result < 0) current_ = {};  // the next start sees to them
  begin();
}

// partition.metadata first: when that has been unlinked, off the shard, the directory's entries are in the page
// cache, and listing them does not wait for the disk.
void LogDeletion::begin() {
  begun_ns_ = loop_.now_ns();
  if (!current_.directories.empty()) {
    current_.files.push_back(current_.directories.back().path + "/" + kPartitionMetadata);
  }
  step();
}

// What cannot be removed now is left to the next start.
void LogDeletion::step() {
  if (current_.files.empty() && !current_.directories.empty() && !current_.directories.back().listed) {
    list_innermost();
  }
  if (!current_.files.empty()) {
    unlinking_ = std::move(current_.files.back());
    current_.files.pop_back();
    return loop_.io().unlink(unlinking_.c_str(), unlink_);
  }
  if (current_.directories.empty()) return end();
  unlinking_ = std::move(current_.directories.back().path);
  current_.directories.pop_back();
  loop_.io().remove_directory(unlinking_.c_str(), remove_);
}

// There are none in another in what Kafka or we make; the files come first all the same.
void LogDeletion::list_innermost() {
  while (!current_.directories.back().listed) {
    current_.directories.back().listed = true;
    std::string path = current_.directories.back().path;
    auto entries = loop_.io().files().list(path);
    if (!entries) return;
    for (const DirectoryEntry& entry : *entries) {
      std::string inner = path + "/" + entry.name;
      if (entry.is_directory) {
        current_.directories.push_back({std::move(inner)});
      } else {
        current_.files.push_back(std::move(inner));
      }
    }
  }
}

void LogDeletion::on_unlinked(int32_t) { step(); }

void LogDeletion::on_removed(int32_t result) {
  if (result >= 0 || result == -ENOENT) return step();
  std::string why = unlinking_ + ": " + to_string(SysError{-result});
  if (!current_.leftover) {
    log_warn("What was deleted stays on the disk until the next start: {}", why);
  } else if (leftovers_that_stay_++ == 0) {
    first_that_stays_ = std::move(why);
  }
  current_.directories.clear();
  end();
}

void LogDeletion::end() {
  bool leftover = current_.leftover;
  current_ = {};
  if (leftover) next_leftover(std::max(loop_.now_ns() - begun_ns_, kLeastPauseNs));
  start_timer();
}

void LogDeletion::next_leftover(uint64_t pause_ns) {
  if (!leftovers_.empty()) {
    Doomed doomed{.directories = {{std::move(leftovers_.back())}}, .leftover = true};
    leftovers_.pop_back();
    waiting_.emplace(loop_.now_ns() + pause_ns, std::move(doomed));
    return;
  }
  if (leftovers_that_stay_ == 0) return log_info("The directories of deleted partitions are removed");
  log_warn("{} directories of deleted partitions cannot be removed, the first is {}", leftovers_that_stay_,
           first_that_stays_);
}

}  // namespace pelton::storage
