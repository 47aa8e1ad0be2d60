// DurableMarks: up to which offset each log of a shard was on stable storage, in one small file of the data
// directory. The recovery points in the checkpoints are up to a minute old; damage in what was synced since
// would look like the torn tail of a crash. A mark is written (not synced) before anybody is told of its sync:
// a crash of the process finds it exact, a power loss finds an older one, which is as true.
//
// File: slots of 32 bytes, big-endian: topic id (16 bytes), int32 partition, int64 offset, uint32 CRC-32C of
// what is before it. Slots that are not sound say nothing. A slot of no topic and partition -1 says that a sync
// failed: what the page cache holds may look as if it were on disk (pages whose write-back failed are clean), so
// recovery has to write it again before it counts as synced. A start begins new files and removes the old ones
// when every log is in them.
//
// Owner shard: one. Lifetime: outlives the logs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reactor/base/uuid.h"
#include "reactor/file_system.h"

namespace pelton::storage {

// The files' names begin so; a number follows.
inline constexpr const char* kDurableMarks = ".durable-offsets-";

struct DurableMark {
  Uuid topic_id;
  int32_t partition = 0;
  int64_t offset = 0;

  bool tells_failed_sync() const { return topic_id.is_zero() && partition == -1; }
};

class DurableMarks {
 public:
  using Slot = uint32_t;

  static Result<std::unique_ptr<DurableMarks>> create(FileSystem& files, const std::string& path);
  ~DurableMarks();
  DurableMarks(const DurableMarks&) = delete;
  DurableMarks& operator=(const DurableMarks&) = delete;

  // A mark of its own for a log; written when this returns, if it can be.
  Slot add(const DurableMark& mark);
  // With the next flush().
  void set(Slot slot, int64_t offset);
  // The log is gone: another one may have its slot.
  void release(Slot slot) { free_.push_back(slot); }
  // Written when this returns, if it can be.
  void note_failed_sync();
  // Writes what has changed. What cannot be written now (a full disk) goes with the next call.
  void flush();

  static std::vector<DurableMark> read(FileSystem& files, const std::string& path);

 private:
  static constexpr size_t kSlotBytes = 32;
  static constexpr size_t kBlockSlots = 128;

  DurableMarks(FileSystem& files, FileFd file) : files_(files), file_(file) {}
  Status write(size_t first_block, size_t end_block);

  FileSystem& files_;
  FileFd file_;
  std::vector<uint8_t> table_;
  std::vector<Slot> free_;
  std::vector<bool> block_changed_;
  std::vector<uint32_t> changed_;  // blocks
  bool sync_failed_ = false;
};

}  // namespace pelton::storage
