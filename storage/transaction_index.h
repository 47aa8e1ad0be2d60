// TransactionIndex: the .txnindex file of a segment: the transactions that were aborted in it.
//
// Entry, 34 bytes big-endian: int16 version 0, int64 producer id, int64 first offset, int64 last offset,
// int64 last stable offset (what it was after the abort). The file exists only once a transaction aborted.
//
// Owner shard: the log's. Stateless: every call opens the file; aborts are rare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reactor/file_system.h"

namespace pelton::storage {

struct AbortedTransaction {
  int64_t producer_id = -1;
  int64_t first_offset = -1;
  int64_t last_offset = -1;
  int64_t last_stable_offset = -1;
  friend bool operator==(const AbortedTransaction&, const AbortedTransaction&) = default;
};

inline constexpr size_t kTransactionIndexEntrySize = 34;

Status append_aborted_transaction(FileSystem& files, const std::string& path,
                                  const AbortedTransaction& aborted);
// All entries; none when the file is missing. Fails with EBADMSG on a damaged file.
Result<std::vector<AbortedTransaction>> read_transaction_index(FileSystem& files,
                                                               const std::string& path);

}  // namespace pelton::storage
