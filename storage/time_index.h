// TimeIndex: the .timeindex file of a segment: from which offset on a timestamp can be found.
//
// Entry, 12 bytes big-endian: int64 the largest timestamp so far, int32 relative offset. As in Apache
// Kafka the offset is the last offset of the batch that holds that timestamp; an entry is added together
// with one of the offset index, only when its timestamp is above the last entry's, and once more when the
// segment is rolled or closed.
//
// Owner shard, lifetime: those of its segment.
#pragma once

#include <cstdint>

#include "storage/index_file.h"

namespace pelton::storage {

struct TimeIndexEntry {
  int64_t timestamp = -1;
  int64_t offset = 0;
};

class TimeIndex {
 public:
  static constexpr uint32_t kEntrySize = 12;

  TimeIndex(FileSystem& files, IndexBlockCache& cache, int64_t base_offset)
      : file_(files, cache, kEntrySize), base_offset_(base_offset) {}

  IndexFile& file() { return file_; }
  const IndexFile& file() const { return file_; }
  // One entry is kept for the roll.
  bool full(int32_t segment_index_bytes) const {
    return file_.entries() + 1 >= static_cast<uint32_t>(segment_index_bytes) / kEntrySize;
  }

  // `last` is the newest entry, which the segment remembers; nothing is added unless `entry` is above it.
  bool maybe_append(const TimeIndexEntry& last, const TimeIndexEntry& entry);
  // The last entry whose timestamp is not above `timestamp`; (-1, base offset) when there is none.
  Result<TimeIndexEntry> lookup(const std::string& path, int64_t timestamp);
  // The last entry whose offset is not above `offset`; (-1, base offset) when there is none.
  Result<TimeIndexEntry> last_up_to(const std::string& path, int64_t offset);
  // Whether timestamps and offsets ascend; the file was opened.
  Result<bool> ascends(const std::string& path);
  // (-1, base offset) when empty.
  Result<TimeIndexEntry> last(const std::string& path);

 private:
  TimeIndexEntry decode(const uint8_t* entry) const;
  Result<TimeIndexEntry> at(const std::string& path, uint32_t number);
  // The last of the entries for which below(entry) holds.
  template <class Below>
  Result<TimeIndexEntry> last_where(const std::string& path, Below below);

  IndexFile file_;
  int64_t base_offset_;
};

}  // namespace pelton::storage
