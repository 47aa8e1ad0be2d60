// OffsetIndex: the .index file of a segment: where in the .log file an offset is found.
//
// Entry, 8 bytes big-endian: int32 offset relative to the segment's base, int32 file position. As in
// Apache Kafka the offset is the *last* offset of a batch and the position is where that batch begins.
// Sparse: the segment adds an entry when more than index.interval.bytes were written since the last.
//
// Owner shard, lifetime: those of its segment.
#pragma once

#include <cstdint>

#include "storage/index_file.h"

namespace pelton::storage {

struct OffsetIndexEntry {
  int64_t offset = 0;
  uint64_t position = 0;
};

class OffsetIndex {
 public:
  static constexpr uint32_t kEntrySize = 8;

  OffsetIndex(FileSystem& files, IndexBlockCache& cache, int64_t base_offset)
      : file_(files, cache, kEntrySize), base_offset_(base_offset) {}

  IndexFile& file() { return file_; }
  const IndexFile& file() const { return file_; }
  // segment.index.bytes bounds the file.
  bool full(int32_t segment_index_bytes) const {
    return file_.entries() >= static_cast<uint32_t>(segment_index_bytes) / kEntrySize;
  }

  void append(int64_t last_offset, uint64_t position);
  // The last entry whose offset is not above `offset`; (base offset, 0) when there is none. Scanning
  // forward from there finds the batch.
  Result<OffsetIndexEntry> lookup(const std::string& path, int64_t offset);
  // The first entry at or behind `position`; nullopt when there is none.
  Result<std::optional<OffsetIndexEntry>> first_from(const std::string& path, uint64_t position);
  // The last entry before `position`; nullopt when there is none.
  Result<std::optional<OffsetIndexEntry>> last_before(const std::string& path, uint64_t position);
  // Whether offsets and positions ascend; the file was opened. A block that a power loss took does not.
  Result<bool> ascends(const std::string& path);
  // (base offset, 0) when empty.
  Result<OffsetIndexEntry> last(const std::string& path);

 private:
  OffsetIndexEntry decode(const uint8_t* entry) const;
  Result<OffsetIndexEntry> at(const std::string& path, uint32_t number);
  Result<uint32_t> count_before(const std::string& path, uint64_t position);

  IndexFile file_;
  int64_t base_offset_;
};

}  // namespace pelton::storage
