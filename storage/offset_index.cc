#include "storage/offset_index.h"

namespace pelton::storage {

void OffsetIndex::append(int64_t last_offset, uint64_t position) {
  uint8_t entry[kEntrySize];
  store_be<int32_t>(entry, static_cast<int32_t>(last_offset - base_offset_));
  store_be<int32_t>(entry + 4, static_cast<int32_t>(position));
  file_.append(entry);
}

OffsetIndexEntry OffsetIndex::decode(const uint8_t* entry) const {
  // Positions are below 2^31, segment.bytes being an int32; a damaged one must not turn into a huge one.
  uint32_t position = static_cast<uint32_t>(load_be<int32_t>(entry + 4));
  return {base_offset_ + load_be<int32_t>(entry), position};
}

Result<OffsetIndexEntry> OffsetIndex::at(const std::string& path, uint32_t number) {
  IndexFile::Reader reader(file_, path);
  const uint8_t* entry = reader.entry(number);
  if (entry == nullptr) return std::unexpected(*reader.error());
  return decode(entry);
}

Result<OffsetIndexEntry> OffsetIndex::lookup(const std::string& path, int64_t offset) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  Result<uint32_t> count = file_.partition_point(
      path, [&](const uint8_t* entry) { return decode(entry).offset <= offset; });
  if (!count) return std::unexpected(count.error());
  if (*count == 0) return OffsetIndexEntry{base_offset_, 0};
  return at(path, *count - 1);
}

// The entries before `position`.
Result<uint32_t> OffsetIndex::count_before(const std::string& path, uint64_t position) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  return file_.partition_point(path,
                               [&](const uint8_t* entry) { return decode(entry).position < position; });
}

Result<std::optional<OffsetIndexEntry>> OffsetIndex::first_from(const std::string& path,
                                                                uint64_t position) {
  Result<uint32_t> before = count_before(path, position);
  if (!before) return std::unexpected(before.error());
  if (*before == file_.entries()) return std::optional<OffsetIndexEntry>();
  return at(path, *before);
}

Result<std::optional<OffsetIndexEntry>> OffsetIndex::last_before(const std::string& path,
                                                                 uint64_t position) {
  Result<uint32_t> before = count_before(path, position);
  if (!before) return std::unexpected(before.error());
  if (*before == 0) return std::optional<OffsetIndexEntry>();
  return at(path, *before - 1);
}

Result<bool> OffsetIndex::ascends(const std::string& path) {
  return file_.ascends(path, [&](const uint8_t* entry, const uint8_t* next) {
    OffsetIndexEntry a = decode(entry), b = decode(next);
    return a.offset < b.offset && a.position < b.position;
  });
}

Result<OffsetIndexEntry> OffsetIndex::last(const std::string& path) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  if (file_.entries() == 0) return OffsetIndexEntry{base_offset_, 0};
  return at(path, file_.entries() - 1);
}

}  // namespace pelton::storage
