#include "tests/sim/world/sim_file.h"

#include <algorithm>
#include <cstring>

namespace pelton::sim {

size_t SimFile::read(MutableBytes into, uint64_t position) const {
  if (position >= data_.size()) return 0;
  size_t got = std::min<size_t>(into.size(), data_.size() - position);
  std::memcpy(into.data(), data_.data() + position, got);
  return got;
}

void SimFile::touch(uint64_t from, uint64_t to) {
  for (uint64_t block = from / kBlock; block * kBlock < to; ++block) dirty_[block] = writes_;
}

void SimFile::write(Bytes bytes, uint64_t position) {
  if (bytes.empty()) return;
  ++writes_;
  uint64_t end = position + bytes.size();
  uint64_t from = std::min<uint64_t>(position, data_.size());  // a hole is written as zeros
  if (end > data_.size()) data_.resize(end, '\0');
  // A size goes to the device with the bytes that need it, those too that are written again.
  if (end > durable_size_) size_written_ = writes_;
  std::memcpy(data_.data() + position, bytes.data(), bytes.size());
  touch(from, end);
}

void SimFile::truncate(uint64_t size) {
  if (size == data_.size()) return;
  ++writes_;
  uint64_t low = std::min<uint64_t>(size, data_.size());
  uint64_t high = std::max<uint64_t>(size, data_.size());
  data_.resize(size, '\0');
  size_written_ = writes_;
  touch(low, high);
}

std::string SimFile::block_of(const std::string& bytes, uint64_t number) const {
  std::string content(kBlock, '\0');
  uint64_t from = number * kBlock;
  if (from < bytes.size())
    std::memcpy(content.data(), bytes.data() + from, std::min<size_t>(kBlock, bytes.size() - from));
  return content;
}

void SimFile::set_durable_block(uint64_t number, const std::string& content) {
  uint64_t end = (number + 1) * kBlock;
  if (durable_.size() < end) durable_.resize(end, '\0');
  std::memcpy(durable_.data() + number * kBlock, content.data(), kBlock);
}

SyncPromise SimFile::begin_sync() const {
  SyncPromise promise;
  for (const auto& [block, written] : dirty_)
    promise.blocks.push_back({block, written, block_of(data_, block)});
  promise.size = data_.size();
  promise.size_written = size_written_;
  return promise;
}

void SimFile::finish_sync(const SyncPromise& promise) {
  set_durable_size(promise);
  for (const auto& block : promise.blocks) {
    uint64_t& on_device = durable_written_[block.number];
    if (on_device >= block.written) continue;
    on_device = block.written;
    set_durable_block(block.number, block.content);
  }
  drop_sync(promise);
}

void SimFile::set_durable_size(const SyncPromise& promise) {
  if (promise.size_written <= durable_size_written_) return;
  durable_size_written_ = promise.size_written;
  durable_size_ = promise.size;
  // What lay beyond a shorter size is given back to the device.
  if (promise.size < durable_.size()) durable_.resize(promise.size);
}

void SimFile::drop_sync(const SyncPromise& promise) {
  for (const auto& block : promise.blocks) {
    auto found = dirty_.find(block.number);
    if (found != dirty_.end() && found->second <= block.written) dirty_.erase(found);
  }
  if (size_written_ <= promise.size_written) size_written_ = 0;
}

void SimFile::lose_power(World& world) {
  enum { kKeepAll, kLoseAll, kEach, kModes };
  uint64_t mode = world.below(kModes);
  double kept = mode == kKeepAll ? 1.0 : mode == kLoseAll ? 0.0 : 0.5;
  for (const auto& [block, written] : dirty_)
    if (world.chance(kept)) set_durable_block(block, block_of(data_, block));
  if (size_written_ != 0 && mode != kLoseAll) {
    // The size travels apart from the blocks; a file that grew may have any size on the way.
    uint64_t low = std::min<uint64_t>(durable_size_, data_.size());
    uint64_t high = std::max<uint64_t>(durable_size_, data_.size());
    durable_size_ = mode == kKeepAll ? data_.size() : world.between(low, high);
  }
  data_ = durable_;
  data_.resize(durable_size_, '\0');
  durable_ = data_;
  dirty_.clear();
  size_written_ = 0;
}

}  // namespace pelton::sim
