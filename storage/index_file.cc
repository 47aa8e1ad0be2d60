#include "storage/index_file.h"

#include <algorithm>

#include "reactor/base/check.h"
#include "storage/open_file.h"

namespace pelton::storage {

Bytes IndexBlockCache::find(const IndexFile& owner, uint32_t block, size_t bytes) {
  for (std::unique_ptr<Slot>& slot : slots_) {
    if (slot && slot->owner == &owner && slot->block == block && slot->bytes >= bytes) {
      slot->used = ++clock_;
      return Bytes(slot->data.data(), bytes);
    }
  }
  return {};
}

MutableBytes IndexBlockCache::make_room(const IndexFile& owner, uint32_t block, size_t bytes) {
  CHECK(bytes <= kBlockBytes);
  std::unique_ptr<Slot>* chosen = nullptr;
  for (std::unique_ptr<Slot>& slot : slots_) {
    // A shorter copy of the same block, from before the file grew, is replaced.
    bool same = slot && slot->owner == &owner && slot->block == block;
    if (!slot || same) {
      chosen = &slot;
      break;
    }
    if (chosen == nullptr || slot->used < (*chosen)->used) chosen = &slot;
  }
  if (!*chosen) *chosen = std::make_unique<Slot>();
  Slot& slot = **chosen;
  slot.owner = &owner;
  slot.block = block;
  slot.bytes = bytes;
  slot.used = ++clock_;
  return MutableBytes(slot.data.data(), bytes);
}

void IndexBlockCache::forget(const IndexFile& owner) {
  for (std::unique_ptr<Slot>& slot : slots_) {
    if (slot && slot->owner == &owner) slot->owner = nullptr;
  }
}

Status IndexFile::open(const std::string& path) {
  if (opened()) return {};
  Result<OpenFile> file = OpenFile::open(files_, path, OpenMode::kRead);
  if (!file) {
    if (file.error().code != ENOENT) return std::unexpected(file.error());
    entries_in_file_ = 0;
    return {};
  }
  Result<uint64_t> size = files_.size(file->fd());
  if (!size) return std::unexpected(size.error());
  entries_in_file_ = static_cast<uint32_t>(std::min<uint64_t>(*size / entry_size_, INT32_MAX));
  return {};
}

Status IndexFile::flush(const std::string& path, bool create) {
  CHECK(opened());
  if (tail_.empty() && (!create || *entries_in_file_ > 0)) return {};
  Result<OpenFile> file = OpenFile::open(files_, path, OpenMode::kCreate);
  if (!file) return std::unexpected(file.error());
  if (tail_.empty()) return {};
  iovec piece{tail_.data(), tail_.size()};
  uint64_t position = uint64_t{*entries_in_file_} * entry_size_;
  if (Status wrote = files_.pwritev(file->fd(), &piece, 1, position); !wrote) return wrote;
  *entries_in_file_ += static_cast<uint32_t>(tail_.size() / entry_size_);
  tail_.clear();
  return {};
}

Status IndexFile::reset(const std::string& path) {
  cache_.forget(*this);
  tail_.clear();
  entries_in_file_ = 0;
  last_block_ = 0;
  Result<OpenFile> file = OpenFile::open(files_, path, OpenMode::kReadWrite);
  if (!file) {
    if (file.error().code == ENOENT) return {};
    return std::unexpected(file.error());
  }
  return files_.truncate(file->fd(), 0);
}

IndexFile::Reader::~Reader() {
  if (fd_ >= 0) index_.files_.close(fd_);
}

const uint8_t* IndexFile::Reader::entry(uint32_t number) {
  CHECK(number < index_.entries());
  uint32_t size = index_.entry_size_;
  uint32_t in_file = *index_.entries_in_file_;
  if (number >= in_file) return index_.tail_.data() + size_t{number - in_file} * size;

  uint32_t per_block = index_.entries_per_block();
  uint32_t block = number / per_block;
  size_t bytes = size_t{std::min(per_block, in_file - block * per_block)} * size;
  Bytes cached = index_.cache_.find(index_, block, bytes);
  if (!cached.empty()) return cached.data() + size_t{number % per_block} * size;

  if (fd_ < 0) {
    Result<FileFd> fd = index_.files_.open(path_, OpenMode::kRead);
    if (!fd) {
      error_ = fd.error();
      return nullptr;
    }
    fd_ = *fd;
  }
  MutableBytes into = index_.cache_.make_room(index_, block, bytes);
  Result<size_t> got = index_.files_.pread(fd_, into, uint64_t{block} * per_block * size);
  if (!got || *got < bytes) {
    index_.cache_.forget(index_);
    error_ = got ? SysError{EIO} : got.error();
    return nullptr;
  }
  return into.data() + size_t{number % per_block} * size;
}

}  // namespace pelton::storage
