#include "storage/durable_marks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/crc32c.h"

namespace pelton::storage {
namespace {

constexpr size_t kPartitionAt = 16;
constexpr size_t kOffsetAt = 20;
constexpr size_t kCrcAt = 28;
constexpr size_t kMaxFileBytes = size_t{256} << 20;

uint32_t checksum(const uint8_t* slot) { return proto::crc32c(Bytes(slot, kCrcAt)); }

}  // namespace

Result<std::unique_ptr<DurableMarks>> DurableMarks::create(FileSystem& files, const std::string& path) {
  Result<FileFd> file = files.open(path, OpenMode::kCreateNew);
  if (!file) return std::unexpected(file.error());
  return std::unique_ptr<DurableMarks>(new DurableMarks(files, *file));
}

DurableMarks::~DurableMarks() { files_.close(file_); }

DurableMarks::Slot DurableMarks::add(const DurableMark& mark) {
  Slot slot;
  if (free_.empty()) {
    slot = static_cast<Slot>(table_.size() / kSlotBytes);
    table_.resize(table_.size() + kSlotBytes);
    block_changed_.resize(slot / kBlockSlots + 1);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  uint8_t* at = table_.data() + slot * kSlotBytes;
  std::memcpy(at, mark.topic_id.bytes.data(), mark.topic_id.bytes.size());
  store_be<int32_t>(at + kPartitionAt, mark.partition);
  set(slot, mark.offset);
  flush();
  return slot;
}

void DurableMarks::set(Slot slot, int64_t offset) {
  uint8_t* at = table_.data() + slot * kSlotBytes;
  store_be<int64_t>(at + kOffsetAt, offset);
  store_be<uint32_t>(at + kCrcAt, checksum(at));
  uint32_t block = slot / kBlockSlots;
  if (block_changed_[block]) return;
  block_changed_[block] = true;
  changed_.push_back(block);
}

void DurableMarks::note_failed_sync() {
  if (!std::exchange(sync_failed_, true)) add({Uuid{}, -1, 0});
}

void DurableMarks::flush() {
  if (changed_.empty()) return;
  std::sort(changed_.begin(), changed_.end());
  size_t done = 0;
  while (done < changed_.size()) {
    size_t end = done + 1;
    while (end < changed_.size() && changed_[end] == changed_[end - 1] + 1) ++end;
    if (!write(changed_[done], changed_[end - 1] + 1)) break;
    for (; done < end; ++done) block_changed_[changed_[done]] = false;
  }
  changed_.erase(changed_.begin(), changed_.begin() + static_cast<ptrdiff_t>(done));
}

Status DurableMarks::write(size_t first_block, size_t end_block) {
  constexpr size_t kBlockBytes = kBlockSlots * kSlotBytes;
  size_t begin = first_block * kBlockBytes;
  size_t end = std::min(end_block * kBlockBytes, table_.size());
  iovec piece{table_.data() + begin, end - begin};
  return files_.pwritev(file_, &piece, 1, begin);
}

std::vector<DurableMark> DurableMarks::read(FileSystem& files, const std::string& path) {
  std::vector<DurableMark> marks;
  Result<std::string> text = read_file(files, path, kMaxFileBytes);
  if (!text) return marks;
  Bytes bytes = as_bytes(*text);
  for (; bytes.size() >= kSlotBytes; bytes = bytes.subspan(kSlotBytes)) {
    if (load_be<uint32_t>(bytes.data() + kCrcAt) != checksum(bytes.data())) continue;
    DurableMark mark;
    std::memcpy(mark.topic_id.bytes.data(), bytes.data(), mark.topic_id.bytes.size());
    mark.partition = load_be<int32_t>(bytes.data() + kPartitionAt);
    mark.offset = load_be<int64_t>(bytes.data() + kOffsetAt);
    marks.push_back(mark);
  }
  return marks;
}

}  // namespace pelton::storage
