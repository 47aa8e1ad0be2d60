#include "storage/transaction_index.h"

#include <array>

#include "reactor/base/bytes.h"
#include "storage/checkpoint.h"
#include "storage/open_file.h"

namespace pelton::storage {
namespace {

constexpr int16_t kVersion = 0;
constexpr size_t kMaxIndexBytes = size_t{1} << 30;

using Entry = std::array<uint8_t, TransactionIndex::kEntrySize>;

Entry encode(const AbortedTransaction& aborted) {
  Entry bytes;
  store_be<int16_t>(bytes.data(), kVersion);
  store_be<int64_t>(bytes.data() + 2, aborted.producer_id);
  store_be<int64_t>(bytes.data() + 10, aborted.first_offset);
  store_be<int64_t>(bytes.data() + 18, aborted.last_offset);
  store_be<int64_t>(bytes.data() + 26, aborted.last_stable_offset);
  return bytes;
}

bool sound(const uint8_t* bytes) { return load_be<int16_t>(bytes) == kVersion; }

AbortedTransaction decode(const uint8_t* bytes) {
  return {load_be<int64_t>(bytes + 2), load_be<int64_t>(bytes + 10), load_be<int64_t>(bytes + 18),
          load_be<int64_t>(bytes + 26)};
}

}  // namespace

void TransactionIndex::append(const AbortedTransaction& aborted) {
  file_.append(encode(aborted).data());
}

Result<bool> TransactionIndex::collect(const std::string& path, int64_t from, int64_t upper,
                                       std::vector<AbortedTransaction>& into) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  if (file_.entries() == 0) return false;
  Result<uint32_t> first = file_.partition_point(
      path, [&](const uint8_t* entry) { return decode(entry).last_offset < from; });
  if (!first) return std::unexpected(first.error());
  IndexFile::Reader reader(file_, path);
  for (uint32_t at = *first; at < file_.entries(); ++at) {
    const uint8_t* entry = reader.entry(at);
    if (entry == nullptr) return std::unexpected(*reader.error());
    if (!sound(entry)) return sys_error(EBADMSG);
    AbortedTransaction aborted = decode(entry);
    if (aborted.first_offset < upper) into.push_back(aborted);
    if (aborted.last_stable_offset >= upper) return true;
  }
  return false;
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
  while (bytes.size() >= TransactionIndex::kEntrySize) {
    if (!sound(bytes.data())) return sys_error(EBADMSG);
    all.push_back(decode(bytes.data()));
    bytes = bytes.subspan(TransactionIndex::kEntrySize);
  }
  return all;
}

Status write_transaction_index(FileSystem& files, const std::string& path,
                               const std::vector<AbortedTransaction>& entries) {
  if (entries.empty()) {
    Status removed = files.unlink(path);
    return removed || removed.error().code == ENOENT ? Status() : removed;
  }
  std::string text;
  for (const AbortedTransaction& aborted : entries) {
    Entry bytes = encode(aborted);
    text.append(bytes.begin(), bytes.end());
  }
  return replace_file_unsynced(files, path, text);
}

}  // namespace pelton::storage
