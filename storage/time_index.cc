#include "storage/time_index.h"

namespace pelton::storage {

bool TimeIndex::maybe_append(const TimeIndexEntry& last, const TimeIndexEntry& entry) {
  if (entry.timestamp <= last.timestamp) return false;
  uint8_t bytes[kEntrySize];
  store_be<int64_t>(bytes, entry.timestamp);
  store_be<int32_t>(bytes + 8, static_cast<int32_t>(entry.offset - base_offset_));
  file_.append(bytes);
  return true;
}

TimeIndexEntry TimeIndex::decode(const uint8_t* entry) const {
  return {load_be<int64_t>(entry), base_offset_ + load_be<int32_t>(entry + 8)};
}

Result<TimeIndexEntry> TimeIndex::at(const std::string& path, uint32_t number) {
  IndexFile::Reader reader(file_, path);
  const uint8_t* entry = reader.entry(number);
  if (entry == nullptr) return std::unexpected(*reader.error());
  return decode(entry);
}

template <class Below>
Result<TimeIndexEntry> TimeIndex::last_where(const std::string& path, Below below) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  Result<uint32_t> count =
      file_.partition_point(path, [&](const uint8_t* entry) { return below(decode(entry)); });
  if (!count) return std::unexpected(count.error());
  if (*count == 0) return TimeIndexEntry{-1, base_offset_};
  return at(path, *count - 1);
}

Result<TimeIndexEntry> TimeIndex::lookup(const std::string& path, int64_t timestamp) {
  return last_where(path, [&](const TimeIndexEntry& entry) { return entry.timestamp <= timestamp; });
}

Result<TimeIndexEntry> TimeIndex::last_up_to(const std::string& path, int64_t offset) {
  return last_where(path, [&](const TimeIndexEntry& entry) { return entry.offset <= offset; });
}

Result<bool> TimeIndex::ascends(const std::string& path) {
  return file_.ascends(path, [&](const uint8_t* entry, const uint8_t* next) {
    TimeIndexEntry a = decode(entry), b = decode(next);
    return a.timestamp < b.timestamp && a.offset <= b.offset;
  });
}

Result<TimeIndexEntry> TimeIndex::last(const std::string& path) {
  if (Status opened = file_.open(path); !opened) return std::unexpected(opened.error());
  if (file_.entries() == 0) return TimeIndexEntry{-1, base_offset_};
  return at(path, file_.entries() - 1);
}

}  // namespace pelton::storage
