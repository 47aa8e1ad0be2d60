// IndexFile: fixed-size entries in ascending order, of which the newest may still be in memory. The
// common part of the offset index, the time index and the transaction index.
//
// Entries gather in a small tail and reach the file a block at a time, at roll and at close, so an idle
// partition holds no descriptor and little memory. Entries in the file are read with pread through a
// cache of blocks that all logs of the shard share; nothing is mapped and nothing is preallocated, so the
// file is exactly as long as its entries.
//
// Owner shard: the log's. Lifetime: a part of its segment; the cache outlives it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/file_system.h"

namespace pelton::storage {

class IndexFile;

// A few blocks of index files, the least recently used one is replaced. Memory is taken when first used.
class IndexBlockCache {
 public:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kSlots = 32;

  // The block's first `bytes`, or empty.
  Bytes find(const IndexFile& owner, uint32_t block, size_t bytes);
  // Room for a block; its content is the caller's to fill.
  MutableBytes make_room(const IndexFile& owner, uint32_t block, size_t bytes);
  void forget(const IndexFile& owner);

 private:
  struct Slot {
    const IndexFile* owner = nullptr;
    uint32_t block = 0;
    size_t bytes = 0;
    uint64_t used = 0;
    std::array<uint8_t, kBlockBytes> data;
  };
  std::array<std::unique_ptr<Slot>, kSlots> slots_;
  uint64_t clock_ = 0;
};

class IndexFile {
 public:
  IndexFile(FileSystem& files, IndexBlockCache& cache, uint32_t entry_size)
      : files_(files), cache_(cache), entry_size_(entry_size) {}
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;
  ~IndexFile() { cache_.forget(*this); }

  // Counts the entries in the file the first time; a missing file has none.
  Status open(const std::string& path);
  // A new file: nothing to count.
  void start_empty() { entries_in_file_ = 0; }

  // The rest needs open() or start_empty().
  uint32_t entries() const {
    return entries_in_file_.value_or(0) + static_cast<uint32_t>(tail_.size() / entry_size_);
  }
  bool opened() const { return entries_in_file_.has_value(); }
  void append(const uint8_t* entry) { tail_.insert(tail_.end(), entry, entry + entry_size_); }
  bool wants_flush() const { return tail_.size() >= kTailBytes; }
  bool unwritten() const { return !tail_.empty(); }
  // Entries that are not in the file yet; keep_unwritten() forgets all but the first `count` of them.
  uint32_t unwritten_entries() const { return static_cast<uint32_t>(tail_.size() / entry_size_); }
  void keep_unwritten(uint32_t count) { tail_.resize(size_t{count} * entry_size_); }
  // Writes the tail behind what the file has. create: makes the file even when there is nothing to write.
  Status flush(const std::string& path, bool create = false);
  // Empties the file and the tail.
  Status reset(const std::string& path);

  // Reads entries one after another or by binary search; holds the file open for its own lifetime only.
  class Reader {
   public:
    Reader(IndexFile& index, const std::string& path) : index_(index), path_(path) {}
    ~Reader();
    // The entry's bytes, valid until the next call; nullptr when the disk fails.
    const uint8_t* entry(uint32_t number);
    std::optional<SysError> error() const { return error_; }

   private:
    IndexFile& index_;
    const std::string& path_;
    FileFd fd_ = -1;
    std::optional<SysError> error_;
  };

  // Whether every entry comes before the next, for which before(entry, next) holds. Reads the whole file.
  template <class Before>
  Result<bool> ascends(const std::string& path, Before before);

  // The number of entries for which below(entry) holds; they all come before the others.
  template <class Below>
  Result<uint32_t> partition_point(const std::string& path, Below below);

 private:
  static constexpr uint32_t kLargestEntry = 12;
  static constexpr size_t kTailBytes = 1536;

  uint32_t entries_per_block() const {
    return static_cast<uint32_t>(IndexBlockCache::kBlockBytes) / entry_size_;
  }

  FileSystem& files_;
  IndexBlockCache& cache_;
  uint32_t entry_size_;
  std::optional<uint32_t> entries_in_file_;
  uint32_t last_block_ = 0;  // where the last search ended: sequential readers come back to it
  std::vector<uint8_t> tail_;
};

template <class Before>
Result<bool> IndexFile::ascends(const std::string& path, Before before) {
  Reader reader(*this, path);
  std::array<uint8_t, kLargestEntry> last;
  for (uint32_t at = 0; at < entries(); ++at) {
    const uint8_t* entry = reader.entry(at);
    if (entry == nullptr) return std::unexpected(*reader.error());
    if (at > 0 && !before(last.data(), entry)) return false;
    std::copy_n(entry, entry_size_, last.data());
  }
  return true;
}

template <class Below>
Result<uint32_t> IndexFile::partition_point(const std::string& path, Below below) {
  Reader reader(*this, path);
  uint32_t low = 0;
  uint32_t high = entries();
  auto probe = [&](uint32_t at) -> bool {
    const uint8_t* bytes = reader.entry(at);
    if (bytes == nullptr) return false;
    if (below(bytes)) {
      low = at + 1;
      return true;
    }
    high = at;
    return true;
  };
  uint32_t hint = last_block_ * entries_per_block();
  if (hint > low && hint < high && !probe(hint)) return std::unexpected(*reader.error());
  uint32_t hint_end = hint + entries_per_block();
  if (hint_end > low && hint_end < high && !probe(hint_end)) return std::unexpected(*reader.error());
  while (low < high) {
    if (!probe(low + (high - low) / 2)) return std::unexpected(*reader.error());
  }
  last_block_ = low / entries_per_block();
  return low;
}

}  // namespace pelton::storage
