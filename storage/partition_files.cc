#include "storage/partition_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "storage/batch_reader.h"
#include "storage/checkpoint.h"
#include "storage/open_file.h"
#include "storage/segment.h"

namespace pelton::storage {
namespace {

constexpr std::string_view kCleanedSuffix = ".cleaned";
constexpr std::string_view kSwapSuffix = ".swap";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::string_view kDeletedLogSuffix = ".log.deleted";
constexpr size_t kOffsetDigits = 20;

// The offset at the front of a segment file's name.
std::optional<int64_t> offset_of(std::string_view name) {
  if (name.size() <= kOffsetDigits || name[kOffsetDigits] != '.') return std::nullopt;
  std::optional<int64_t> offset = parse_number<int64_t>(name.substr(0, kOffsetDigits));
  if (offset && *offset < 0) return std::nullopt;
  return offset;
}

bool is_deleted_log(std::string_view name) {
  return offset_of(name).has_value() && name.substr(kOffsetDigits) == kDeletedLogSuffix;
}

// Offset after the last whole batch of a file.
Result<int64_t> end_offset(FileSystem& files, const std::string& path, int64_t base_offset) {
  Result<OpenFile> file = OpenFile::open(files, path, OpenMode::kRead);
  if (!file) return std::unexpected(file.error());
  Result<uint64_t> size = files.size(file->fd());
  if (!size) return std::unexpected(size.error());
  HeaderReader headers(files, file->fd(), 0, *size);
  int64_t next = base_offset;
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) next = headers.header().next_offset();
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  return next;
}

// Work in progress while a directory is cleared. Apache Kafka's cleaner writes .cleaned files, renames
// them to .swap when all are whole, and then replaces the old segments.
class Clearing {
 public:
  Clearing(FileSystem& files, const std::string& directory) : files_(files), directory_(directory) {}

  Result<PartitionFiles> run() {
    Result<std::vector<DirectoryEntry>> entries = files_.list(directory_);
    if (!entries) return std::unexpected(entries.error());
    for (const DirectoryEntry& entry : *entries) {
      if (!entry.is_directory) names_.insert(entry.name);
    }
    if (Status done = clear_unfinished(); !done) return std::unexpected(done.error());
    if (Status done = finish_swaps(); !done) return std::unexpected(done.error());
    return collected();
  }

 private:
  std::string path(std::string_view name) const { return directory_ + "/" + std::string(name); }

  Status remove(const std::string& name) {
    Status removed = files_.unlink(path(name));
    if (removed || removed.error().code == ENOENT) {
      names_.erase(name);
      return {};
    }
    return removed;
  }

  // A .cleaned file means the set was not whole: the .swap files from its offset on are void as well.
  Status clear_unfinished() {
    std::vector<std::string> doomed;
    std::optional<int64_t> first_cleaned;
    for (const std::string& name : names_) {
      bool cleaned = name.ends_with(kCleanedSuffix);
      bool deleted = name.ends_with(kDeletedSuffix) && !is_deleted_log(name);
      if (cleaned || deleted || name.ends_with(kTemporarySuffix)) {
        doomed.push_back(name);
      }
      std::optional<int64_t> offset = offset_of(name);
      if (cleaned && offset && (!first_cleaned || *offset < *first_cleaned)) first_cleaned = offset;
    }
    for (const std::string& name : names_) {
      std::optional<int64_t> offset = offset_of(name);
      bool is_void = first_cleaned && offset && *offset >= *first_cleaned;
      if (is_void && name.ends_with(kSwapSuffix)) doomed.push_back(name);
    }
    for (const std::string& name : doomed) {
      if (Status removed = remove(name); !removed) return removed;
    }
    return {};
  }

  Status finish_swaps() {
    std::vector<std::string> swaps;
    for (const std::string& name : names_) {
      if (name.ends_with(kSwapSuffix)) swaps.push_back(name);
    }
    for (const std::string& name : swaps) {
      std::string final_name = name.substr(0, name.size() - kSwapSuffix.size());
      if (final_name.ends_with(kLogSuffix)) {
        if (Status removed = remove_replaced(name); !removed) return removed;
      }
    }
    for (const std::string& name : swaps) {
      std::string final_name = name.substr(0, name.size() - kSwapSuffix.size());
      if (Status renamed = files_.rename(path(name), path(final_name)); !renamed) return renamed;
      names_.erase(name);
      names_.insert(final_name);
    }
    return swaps.empty() ? Status() : files_.sync_directory(directory_);
  }

  // Removes the files of the segments whose offsets the swapped-in segment covers.
  Status remove_replaced(const std::string& swap_name) {
    std::optional<int64_t> base = offset_of(swap_name);
    if (!base) return {};
    Result<int64_t> end = end_offset(files_, path(swap_name), *base);
    if (!end) return std::unexpected(end.error());
    std::vector<std::string> doomed;
    for (const std::string& name : names_) {
      std::optional<int64_t> offset = offset_of(name);
      if (!offset || name.ends_with(kSwapSuffix) || name.ends_with(kSnapshotSuffix)) continue;
      if (is_deleted_log(name)) continue;
      if (*offset >= *base && *offset < std::max(*end, *base + 1)) doomed.push_back(name);
    }
    for (const std::string& name : doomed) {
      if (Status removed = remove(name); !removed) return removed;
    }
    return {};
  }

  PartitionFiles collected() const {
    PartitionFiles found;
    for (const std::string& name : names_) {
      std::optional<int64_t> offset = offset_of(name);
      if (!offset) continue;
      if (is_deleted_log(name)) found.deleted.push_back(*offset);
      std::string_view suffix = std::string_view(name).substr(kOffsetDigits);
      if (suffix == kSnapshotSuffix) found.snapshots.push_back(*offset);
      if (suffix != kLogSuffix) continue;
      found.segments.push_back({*offset, names_.contains(segment_file_name(*offset, kOffsetIndexSuffix)),
                                names_.contains(segment_file_name(*offset, kTimeIndexSuffix))});
    }
    return found;
  }

  FileSystem& files_;
  const std::string& directory_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

Result<PartitionFiles> collect_partition_files(FileSystem& files, const std::string& directory) {
  return Clearing(files, directory).run();
}

}  // namespace pelton::storage
