#include "storage/recovery.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "storage/checkpoint.h"
#include "storage/log_deletion.h"
#include "storage/partition_files.h"
#include "storage/segment_rewrite.h"
#include "storage/segment_scan.h"

namespace pelton::storage {
namespace {

using Loaded = Result<void, std::string>;

std::string sentence(const std::string& path, SysError error) {
  return fmt::format("{}: {}", path, to_string(error));
}

class Loader {
 public:
  Loader(Log::Parts& parts, const LoadOptions& options) : parts_(parts), options_(options) {}

  Loaded run() {
    if (Loaded opened = open_segments(); !opened) return opened;
    bool clean = options_.clean && !epochs_missing_;
    if (clean) {
      Result<bool, std::string> trusted = trust_files();
      if (!trusted) return std::unexpected(trusted.error());
      clean = *trusted;
    }
    if (!clean) {
      if (Loaded recovered = recover(); !recovered) return recovered;
    }
    if (Loaded settled = settle(); !settled) return settled;
    delete_leftovers();
    for (auto& segment : parts_.segments) parts_.storage.descriptors->close(*segment);
    return {};
  }

 private:
  std::unexpected<std::string> failed(SysError error) const {
    return std::unexpected(sentence(*parts_.directory, error));
  }

  std::unique_ptr<Segment> make_segment(int64_t base_offset) {
    return std::make_unique<Segment>(*parts_.storage.descriptors, *parts_.storage.index_blocks,
                                     parts_.directory, base_offset);
  }

  Loaded open_segments() {
    if (options_.is_new) return start_empty(0);
    Result<PartitionFiles> found = collect_partition_files(parts_.files, *parts_.directory);
    if (!found) return failed(found.error());
    files_ = std::move(*found);
    if (files_.segments.empty() && !files_.deleted.empty()) {
      if (Loaded back = bring_back_last(); !back) return back;
    }
    parts_.snapshots = files_.snapshots;
    for (const SegmentFiles& names : files_.segments) {
      auto segment = make_segment(names.base_offset);
      Result<FileFd> fd = segment->file();
      if (!fd) return failed(fd.error());
      Result<uint64_t> size = parts_.files.size(*fd);
      if (!size) return failed(size.error());
      if (*size > std::numeric_limits<int32_t>::max()) return failed({EFBIG});
      segment->set_size(*size);
      segment->set_name_durable();  // LogDir::settle() sees to it
      parts_.segments.push_back(std::move(segment));
    }
    if (parts_.segments.empty()) {
      int64_t start = std::max<int64_t>(options_.log_start_offset, 0);
      if (options_.durable_offset > start) return lost(start);
      return start_empty(start);
    }
    load_epochs();
    return {};
  }

  // Everything was deleted, and the name of the empty segment behind it is lost: the last one says where the log
  // ends.
  Loaded bring_back_last() {
    int64_t base = files_.deleted.back();
    std::string name = parts_.path(segment_file_name(base, kLogSuffix));
    if (Status renamed = parts_.files.rename(name + kDeletedSuffix, name); !renamed) return failed(renamed.error());
    files_.deleted.pop_back();
    files_.segments.push_back({base, false, false});
    return {};
  }

  // When their names are on stable storage; those that tell of a gap stay as long as it is there.
  void delete_leftovers() {
    std::vector<std::string> doomed;
    for (int64_t base : files_.deleted) {
      doomed.push_back(parts_.path(segment_file_name(base, kLogSuffix)) + kDeletedSuffix);
    }
    parts_.storage.deletions->delete_files(std::move(doomed), 0, parts_.directory_sync);
  }

  std::unexpected<std::string> lost(int64_t start) const {
    return std::unexpected(
        fmt::format("{}: there are no segment files, although offsets {} to {} were on stable storage; {}",
                    *parts_.directory, start, options_.durable_offset, ways_out("restore the files")));
  }

  static std::string ways_out(const char* better) {
    return fmt::format("{}, or, to go on without these records, stop the broker, remove the partition's line "
                       "from {} and the files {}* of the data directory",
                       better, kRecoveryPointCheckpoint, kDurableMarks);
  }

  Loaded start_empty(int64_t offset) {
    auto segment = make_segment(offset);
    if (Status created = segment->create(); !created) return failed(created.error());
    parts_.segments.push_back(std::move(segment));
    load_epochs();
    return {};
  }

  // A partition that has records has leader epochs, and Apache Kafka and we write them: a missing or
  // damaged file is made again from the batches.
  void load_epochs() {
    if (options_.is_new) return;
    Result<std::string> text =
        read_file(parts_.files, parts_.path(kLeaderEpochCheckpoint), kMaxCheckpointBytes);
    std::optional<std::vector<LeaderEpochEntry>> entries;
    if (text) entries = parse_leader_epochs(*text);
    if (entries) parts_.epochs.load(*entries);
    bool has_records = parts_.segments.size() > 1 || parts_.segments.back()->size() > 0;
    epochs_missing_ = !entries && has_records;
  }

  // Clean stop: only the end of the last segment is read. False: it is not what a clean stop leaves.
  Result<bool, std::string> trust_files() {
    if (Loaded rebuilt = rebuild_missing_indexes(parts_.segments.size()); !rebuilt) {
      return std::unexpected(rebuilt.error());
    }
    Result<std::optional<int64_t>> next = parts_.active().next_offset();
    if (!next) return failed(next.error());
    if (!*next) return false;
    parts_.next_offset = **next;
    return true;
  }

  // Of the first `count` segments. The records themselves are as good as the stop was.
  Loaded rebuild_missing_indexes(size_t count) {
    for (size_t i = 0; i < count && i < files_.segments.size(); ++i) {
      const SegmentFiles& names = files_.segments[i];
      Segment& segment = *parts_.segments[i];
      bool missing = !names.has_offset_index || !names.has_time_index;
      if (segment.size() == 0 || (!missing && (options_.clean || indexes_sound(parts_.files, segment)))) continue;
      uint64_t size = segment.size();
      Result<ScanEnd> end = scan_segment(parts_, segment, segment.base_offset(), ScanFor::kIndexes);
      if (!end) return failed(end.error());
      if (!end->whole) return damaged(segment, *end, size);
      if (Status finished = segment.finish(); !finished) return failed(finished.error());
    }
    return {};
  }

  std::unexpected<std::string> damaged(Segment& segment, const ScanEnd& end, uint64_t size) const {
    return std::unexpected(fmt::format(
        "{}: bytes {} to {} (from offset {}) are no sound batches, although everything before offset {} "
        "was on stable storage; they were left as they are: {}",
        segment.path(kLogSuffix), end.position, size, end.next_offset, options_.durable_offset,
        ways_out("restore the file from a copy")));
  }

  Loaded recover() {
    size_t first = parts_.segment_index(options_.recovery_point);
    int64_t first_base = parts_.segments[first]->base_offset();
    if (Loaded rebuilt = rebuild_missing_indexes(first); !rebuilt) return rebuilt;
    if (Loaded found = find_old_epochs(first); !found) return found;
    parts_.epochs.truncate_from_end(first_base);
    parts_.epochs_dirty = true;
    // The state before the first segment that is scanned.
    parts_.written_end = {first_base, first_base, 0};
    parts_.next_offset = first_base;
    parts_.log_start_offset = std::min(std::max(options_.log_start_offset, oldest_base()), first_base);
    if (Status loaded = parts_.load_producers(); !loaded) return failed(loaded.error());
    if (Loaded scanned = scan_from(first); !scanned) return scanned;
    note_aborts(first);
    return finish_from(first);
  }

  // The transaction indexes that were made again are in the page cache only.
  void note_aborts(size_t first) {
    for (size_t i = first; i + 1 < parts_.segments.size() && parts_.unsynced_aborts_from < 0; ++i) {
      bool aborts = parts_.segments[i]->transaction_index().file().entries() > 0;
      if (aborts) parts_.unsynced_aborts_from = parts_.segments[i]->base_offset();
    }
  }

  int64_t oldest_base() const { return parts_.segments.front()->base_offset(); }

  // Epochs that began before the scan starts come from the file. It may be older than the log (it is
  // written without waiting for the disk): then they are looked up in the headers.
  Loaded find_old_epochs(size_t first) {
    if (first == 0) return {};
    Result<FileFd> fd = parts_.segments[first]->file();
    if (!fd) return failed(fd.error());
    HeaderReader front(parts_.files, *fd, 0, parts_.segments[first]->size());
    bool known = !epochs_missing_ && (front.next() != ReadStep::kBatch ||
                                      front.header().partition_leader_epoch() ==
                                          parts_.epochs.epoch_of(front.header().base_offset()));
    if (known) return {};
    parts_.epochs.load({});
    for (size_t i = 0; i < first; ++i) {
      Status found = take_epochs_from_headers(parts_.files, *parts_.segments[i], parts_.epochs);
      if (!found) return failed(found.error());
    }
    return {};
  }

  // Whether the end of the log before this segment is gone, cut between two batches. Compaction leaves gaps
  // too, and so does deletion when a power loss takes the first of its renames back and not the others; what lies
  // before the log's start does not matter.
  bool lost_before(const Segment& segment, int64_t next) {
    if (parts_.config.compact_policy) return false;
    if (segment.base_offset() <= std::max(next, options_.log_start_offset)) return false;
    size_t deleted = std::erase_if(
        files_.deleted, [&](int64_t base) { return base >= next && base < segment.base_offset(); });
    return deleted == 0;
  }

  Loaded scan_from(size_t first) {
    int64_t next = parts_.segments[first]->base_offset();
    for (size_t i = first; i < parts_.segments.size(); ++i) {
      Segment& segment = *parts_.segments[i];
      uint64_t size = segment.size();
      if (i > first && lost_before(segment, next)) {
        if (next < options_.durable_offset) break;
        if (Loaded dropped = drop_segments_after(i - 1); !dropped) return dropped;
        break;
      }
      if (i > first) {
        parts_.producers->set_end_offset(segment.base_offset());
        if (Status wrote = parts_.write_snapshot(segment.base_offset()); !wrote) {
          return failed(wrote.error());
        }
      }
      int64_t expected = std::max(next, segment.base_offset());
      Result<ScanEnd> end = scan_segment(parts_, segment, expected, ScanFor::kEverything);
      if (!end) return failed(end.error());
      next = end->next_offset;
      if (end->whole) continue;
      if (next < options_.durable_offset) return damaged(segment, *end, size);
      if (Status cut = segment.truncate(end->position); !cut) return failed(cut.error());
      if (Loaded dropped = drop_segments_after(i); !dropped) return dropped;
    }
    if (next < options_.durable_offset && next > options_.log_start_offset) {
      return std::unexpected(
          fmt::format("{}: the log ends at offset {}, although everything before offset {} was on stable "
                      "storage; {}",
                      *parts_.directory, next, options_.durable_offset,
                      ways_out("restore the missing segment files")));
    }
    for (auto& segment : parts_.segments) segment->set_written(segment->size());
    parts_.next_offset = next;
    return {};
  }

  Loaded drop_segments_after(size_t last) {
    while (parts_.segments.size() > last + 1) {
      Segment& segment = parts_.active();
      for (const char* suffix :
           {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix}) {
        Status removed = parts_.files.unlink(segment.path(suffix));
        if (!removed && removed.error().code != ENOENT) return failed(removed.error());
      }
      parts_.segments.pop_back();
    }
    return {};
  }

  Loaded finish_from(size_t first) {
    for (size_t i = first; i < parts_.segments.size(); ++i) {
      Segment& segment = *parts_.segments[i];
      if (i + 1 < parts_.segments.size()) {
        if (Status finished = segment.finish(); !finished) return failed(finished.error());
      }
      if (!options_.sync_failed) continue;
      Status wrote = write_again(parts_.files, segment, options_.durable_offset);
      if (!wrote) return failed(wrote.error());
    }
    return {};
  }

  // The rest of the state follows from the segments and the log's end.
  Loaded settle() {
    int64_t start = std::max(options_.log_start_offset, oldest_base());
    if (start > parts_.next_offset) {
      // Everything that is left was deleted by raising the log start.
      parts_.producers.reset();
      for (auto& segment : parts_.segments) {
        (void)parts_.files.unlink(segment->path(kLogSuffix));
        (void)parts_.files.unlink(segment->path(kOffsetIndexSuffix));
        (void)parts_.files.unlink(segment->path(kTimeIndexSuffix));
        (void)parts_.files.unlink(segment->path(kTransactionIndexSuffix));
      }
      parts_.segments.clear();
      if (Loaded empty = start_empty(start); !empty) return empty;
      parts_.next_offset = start;
    }
    parts_.log_start_offset = start;
    parts_.written_end = {parts_.next_offset, parts_.active().base_offset(), parts_.active().size()};
    parts_.synced_end = parts_.written_end;
    if (parts_.epochs.truncate_from_end(parts_.next_offset)) parts_.epochs_dirty = true;
    if (parts_.epochs.truncate_from_start(start)) parts_.epochs_dirty = true;
    if (Status flushed = parts_.flush_epochs(); !flushed) return failed(flushed.error());
    if (!parts_.producers) {
      if (Status loaded = parts_.load_producers(); !loaded) return failed(loaded.error());
    }
    parts_.draw_roll_jitter();
    return drop_stray_snapshots();
  }

  // Snapshots past the end describe what is no longer there; of those that start no segment only the
  // newest is of use.
  Loaded drop_stray_snapshots() {
    std::vector<int64_t> kept;
    for (size_t i = 0; i < parts_.snapshots.size(); ++i) {
      int64_t offset = parts_.snapshots[i];
      bool newest = i + 1 == parts_.snapshots.size() ||
                    parts_.snapshots[i + 1] > parts_.next_offset;
      bool starts_segment =
          parts_.segments[parts_.segment_index(offset)]->base_offset() == offset;
      if (offset <= parts_.next_offset && (newest || starts_segment)) {
        kept.push_back(offset);
        continue;
      }
      (void)parts_.files.unlink(parts_.path(segment_file_name(offset, kSnapshotSuffix)));
    }
    parts_.snapshots = std::move(kept);
    return {};
  }

  Log::Parts& parts_;
  const LoadOptions& options_;
  PartitionFiles files_;
  bool epochs_missing_ = false;
};

}  // namespace

Loaded load_log_parts(Log::Parts& parts, const LoadOptions& options) {
  return Loader(parts, options).run();
}

}  // namespace pelton::storage
