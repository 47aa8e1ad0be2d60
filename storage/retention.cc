// Log::Parts, what ages: retention by time and size, the log start, deletion of segments.
#include <algorithm>

#include "storage/checkpoint.h"
#include "storage/log_deletion.h"
#include "storage/log_parts.h"

namespace pelton::storage {
namespace {

// Segments that one call deletes: each costs a few renames.
constexpr size_t kMostAtOnce = 32;

// A segment's age counts from its newest record; without timestamps, from its file's last change.
bool expired(Segment& segment, int64_t now_ms, int64_t retention_ms) {
  Result<TimeIndexEntry> largest = segment.largest_timestamp();
  int64_t newest = largest ? largest->timestamp : -1;
  if (newest < 0) newest = segment.modified_ms().value_or(now_ms);
  return now_ms - newest > retention_ms;
}

}  // namespace

// Deletes from the front while the rule holds and everything in the segment is below the high watermark.
// The order of the rules is Kafka's: time, size, log start.
int Log::Parts::apply_retention(int64_t now_ms, int64_t high_watermark) {
  if (failed || closed) return 0;
  if (producers) producers->expire(now_ms, config.producer_id_expiration_ms);
  uint64_t excess = 0;
  if (config.delete_policy && config.retention_bytes >= 0) {
    uint64_t size = size_bytes();
    uint64_t keep = static_cast<uint64_t>(config.retention_bytes);
    excess = size > keep ? size - keep : 0;
  }
  size_t count = 0;
  for (; count < segments.size() && count < kMostAtOnce; ++count) {
    Segment& segment = *segments[count];
    bool last = count + 1 == segments.size();
    int64_t end = last ? next_offset : segments[count + 1]->base_offset();
    if (end > high_watermark || (last && segment.size() == 0)) break;
    bool old = config.delete_policy && config.retention_ms >= 0 &&
               expired(segment, now_ms, config.retention_ms);
    bool over = excess > 0 && excess >= segment.size();
    bool before_start = !last && end <= log_start_offset;
    if (!old && !over && !before_start) break;
    excess -= std::min(excess, segment.size());
  }
  if (count == 0) return 0;
  // There is always an active segment.
  if (count == segments.size()) {
    if (Status rolled = roll(); !rolled) {
      suspend_or_fail(rolled.error());
      return 0;
    }
  }
  Result<size_t> deleted = delete_front(count);
  if (deleted) return static_cast<int>(*deleted);
  suspend_or_fail(deleted.error());
  return 0;
}

// The .log file's name decides: a segment whose .log keeps its name stays, with all that come after it. Other
// files that cannot be renamed are removed under the name they have.
Result<size_t> Log::Parts::rename_front(size_t count, std::vector<std::string>& doomed) {
  for (size_t i = 0; i < count; ++i) {
    for (const char* suffix :
         {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix}) {
      std::string name = segments[i]->path(suffix);
      Status renamed = files.rename(name, name + kDeletedSuffix);
      if (!renamed && suffix == kLogSuffix) {
        if (i == 0) return std::unexpected(renamed.error());
        return i;
      }
      doomed.push_back(renamed ? name + kDeletedSuffix : name);
    }
  }
  return count;
}

Result<size_t> Log::Parts::delete_front(size_t count) {
  CHECK(count < segments.size());
  std::vector<std::string> doomed;
  Result<size_t> renamed = rename_front(count, doomed);
  if (!renamed) return renamed;
  for (size_t i = 0; i < *renamed; ++i) storage.descriptors->bury(std::move(segments[i]));
  segments.erase(segments.begin(), segments.begin() + static_cast<ptrdiff_t>(*renamed));
  int64_t new_first = segments.front()->base_offset();
  while (!snapshots.empty() && snapshots.front() < new_first) {
    std::string name = path(segment_file_name(snapshots.front(), kSnapshotSuffix));
    doomed.push_back(files.rename(name, name + kDeletedSuffix) ? name + kDeletedSuffix : name);
    snapshots.erase(snapshots.begin());
  }
  storage.deletions->delete_files(std::move(doomed), config.file_delete_delay_ms, directory_sync);
  if (synced_end.offset < new_first) synced_end = {new_first, new_first, 0};
  set_log_start_offset(new_first);
  if (Status flushed = flush_epochs(); !flushed) suspend_or_fail(flushed.error());
  return renamed;
}

void Log::Parts::set_log_start_offset(int64_t offset) {
  if (offset <= log_start_offset) return;
  log_start_offset = std::min(offset, next_offset);
  if (epochs.truncate_from_start(log_start_offset)) epochs_dirty = true;
}

}  // namespace pelton::storage
