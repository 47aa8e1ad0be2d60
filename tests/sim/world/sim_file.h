// SimFile: one file or directory of the simulated disk, in two states: what the processes see (the page
// cache) and what a power loss leaves.
//
// Owner: the directories and descriptors that hold it. One SimDisk's thread.
// Invariant: what differs between the two states of a file's bytes lies in a dirty block, or was dropped
// by a failed sync.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reactor/base/bytes.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

inline constexpr uint64_t kBlock = 512;  // written whole or not at all

// What one sync has promised: the dirty bytes at the moment it began.
struct SyncPromise {
  struct Block {
    uint64_t number;
    uint64_t written;  // the write that the content is of
    std::string content;
  };
  std::vector<Block> blocks;
  uint64_t size = 0;
  uint64_t size_written = 0;
};

class SimFile {
 public:
  SimFile(uint64_t id, bool is_directory) : id_(id), is_directory_(is_directory) {}

  uint64_t id() const { return id_; }
  bool is_directory() const { return is_directory_; }

  // --- bytes, as processes see them ---
  uint64_t size() const { return data_.size(); }
  size_t read(MutableBytes into, uint64_t position) const;
  void write(Bytes bytes, uint64_t position);
  void truncate(uint64_t size);
  bool dirty() const { return !dirty_.empty() || size_written_ != 0; }

  // --- bytes, as the device has them ---
  SyncPromise begin_sync() const;
  void finish_sync(const SyncPromise& promise);
  // The device refused: the pages count as clean and are not on it.
  void drop_sync(const SyncPromise& promise);
  // Only what is on the device is left; each dirty block is there or not as the world draws.
  void lose_power(World& world);

  int64_t modified_ms = 0;

  // Dropped syncs: whoever has the file open is told once, by its own next sync; if nobody was, whoever
  // opens it next.
  uint64_t errors = 0;
  bool error_told = true;

  // --- entries of a directory ---
  using Entries = std::map<std::string, std::shared_ptr<SimFile>>;
  Entries entries;
  Entries durable_entries;

 private:
  std::string block_of(const std::string& bytes, uint64_t number) const;
  void set_durable_block(uint64_t number, const std::string& content);
  void set_durable_size(const SyncPromise& promise);
  void touch(uint64_t from, uint64_t to);

  uint64_t id_;
  bool is_directory_;
  std::string data_;
  std::string durable_;          // its size may exceed durable_size_: blocks without a size yet
  uint64_t durable_size_ = 0;
  std::map<uint64_t, uint64_t> dirty_;  // block -> the last write that touched it
  uint64_t size_written_ = 0;           // the last write that changed the size; 0 = the size is durable
  uint64_t writes_ = 0;
  // Syncs may end in another order than they began: which write the device has of a block, of the size.
  std::map<uint64_t, uint64_t> durable_written_;
  uint64_t durable_size_written_ = 0;
};

}  // namespace pelton::sim
