#include "storage/transaction_index.h"

#include <array>

#include "reactor/base/bytes.h"
#include "storage/open_file.h"

namespace pelton::storage {
namespace {

constexpr int16_t kVersion = 0;
constexpr size_t kMaxIndexBytes = 64 << 20;

std::array<uint8_t, kTransactionIndexEntrySize> encode(const AbortedTransaction& aborted) {
  std::array<uint8_t, kTransactionIndexEntrySize> bytes;
  store_be<int16_t>(bytes.data(), kVersion);
  store_be<int64_t>(bytes.data() + 2, aborted.producer_id);
  store_be<int64_t>(bytes.data() + 10, aborted.first_offset);
  store_be<int64_t>(bytes.data() + 18, aborted.last_offset);
  store_be<int64_t>(bytes.data() + 26, aborted.last_stable_offset);
  return bytes;
}

AbortedTransaction decode(const uint8_t* bytes) {
  return {load_be<int64_t>(bytes + 2), load_be<int64_t>(bytes + 10), load_be<int64_t>(bytes + 18),
          load_be<int64_t>(bytes + 26)};
}

}  // namespace

Status append_aborted_transaction(FileSystem& files, const std::string& path,
                                  const AbortedTransaction& aborted) {
  Result<OpenFile> file = OpenFile::open(files, path, OpenMode::kCreate);
  if (!file) return std::unexpected(file.error());
  Result<uint64_t> size = files.size(file->fd());
  if (!size) return std::unexpected(size.error());
  auto bytes = encode(aborted);
  iovec piece{bytes.data(), bytes.size()};
  // A torn entry at the end is written over.
  return files.pwritev(file->fd(), &piece, 1, *size - *size % kTransactionIndexEntrySize);
}

Result<std::vector<AbortedTransaction>> read_transaction_index(FileSystem& files,
                                                               const std::string& path) {
  std::vector<AbortedTransaction> all;
  Result<std::string> text = read_file(files, path, kMaxIndexBytes);
  if (!text) {
    if (text.error().code == ENOENT) return all;
    return std::unexpected(text.error());
  }
  Bytes bytes = as_bytes(*text);
  while (bytes.size() >= kTransactionIndexEntrySize) {
    if (load_be<int16_t>(bytes.data()) != kVersion) return sys_error(EBADMSG);
    all.push_back(decode(bytes.data()));
    bytes = bytes.subspan(kTransactionIndexEntrySize);
  }
  return all;
}

}  // namespace pelton::storage
