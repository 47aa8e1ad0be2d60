// TransactionIndex: the .txnindex file of a segment: the transactions that were aborted in it.
//
// Entry, 34 bytes big-endian: int16 version 0, int64 producer id, int64 first offset, int64 last offset (the
// marker's), int64 last stable offset (what it was after the abort). The file exists only once a
// transaction aborted. Last offsets and last stable offsets both ascend.
//
// Owner shard, lifetime: those of its segment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/index_file.h"

namespace pelton::storage {

struct AbortedTransaction {
  int64_t producer_id = -1;
  int64_t first_offset = -1;
  int64_t last_offset = -1;
  int64_t last_stable_offset = -1;
  friend bool operator==(const AbortedTransaction&, const AbortedTransaction&) = default;
};

class TransactionIndex {
 public:
  static constexpr uint32_t kEntrySize = 34;

  TransactionIndex(FileSystem& files, IndexBlockCache& cache) : file_(files, cache, kEntrySize) {}

  IndexFile& file() { return file_; }
  const IndexFile& file() const { return file_; }

  // Needs file().open() or start_empty().
  void append(const AbortedTransaction& aborted);
  // Adds what a reader of the offsets from `from` up to `upper` has to know. True: nothing later than this
  // index can concern it. Fails with EBADMSG on a damaged entry.
  Result<bool> collect(const std::string& path, int64_t from, int64_t upper,
                       std::vector<AbortedTransaction>& into);

 private:
  IndexFile file_;
};

// All entries of a file; none when it is missing. Fails with EBADMSG on a damaged one.
Result<std::vector<AbortedTransaction>> read_transaction_index(FileSystem& files,
                                                               const std::string& path);
// Puts exactly these entries into the file, or removes it when there are none.
Status write_transaction_index(FileSystem& files, const std::string& path,
                               const std::vector<AbortedTransaction>& entries);

}  // namespace pelton::storage
