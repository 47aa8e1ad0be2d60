// Readers of a segment file, batch by batch: HeaderReader looks at headers only (lookups, replay),
// BatchReader gives whole batches (recovery, loading, timestamps).
//
// Owner shard: the log's; short-lived. Blocking reads. What the file says is hostile: every size is held
// against the bytes left, and memory grows only with bytes that are there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proto/batch.h"
#include "reactor/file_system.h"

namespace pelton::storage {

enum class ReadStep {
  kBatch,
  kEnd,     // no byte is left
  kBad,     // what is left is no whole batch of magic 2
  kFailed,  // the disk failed: error()
};

class HeaderReader {
 public:
  // Walks from `position` to `end`, both in bytes of the file.
  HeaderReader(FileSystem& files, FileFd file, uint64_t position, uint64_t end)
      : files_(files), file_(file), position_(position), end_(end) {}

  ReadStep next();
  // After kBatch: its header, valid until the next step; after kBad: where the bad bytes begin.
  proto::BatchView header() const { return proto::BatchView(header_); }
  uint64_t position() const { return position_; }
  uint32_t size() const { return size_; }
  SysError error() const { return error_; }

 private:
  static constexpr size_t kChunk = 4096;
  bool fill();

  FileSystem& files_;
  FileFd file_;
  uint64_t position_;
  uint64_t end_;
  uint32_t size_ = 0;
  uint64_t chunk_position_ = 0;
  size_t chunk_size_ = 0;
  Bytes header_;
  SysError error_;
  std::array<uint8_t, kChunk> chunk_;
};

class BatchReader {
 public:
  // read_ahead: bytes asked from the file at once when batches are smaller.
  BatchReader(FileSystem& files, FileFd file, uint64_t position, uint64_t end,
              size_t read_ahead = 1 << 20)
      : files_(files), file_(file), position_(position), end_(end), read_ahead_(read_ahead) {}

  ReadStep next();
  // After kBatch: the whole batch, valid until the next step.
  MutableBytes batch() { return MutableBytes(buffer_).subspan(offset_, size_); }
  uint64_t position() const { return position_; }
  SysError error() const { return error_; }

 private:
  bool have(size_t bytes);

  FileSystem& files_;
  FileFd file_;
  uint64_t position_;
  uint64_t end_;
  size_t read_ahead_;
  size_t size_ = 0;
  std::vector<uint8_t> buffer_;
  size_t offset_ = 0;  // of position_ in buffer_
  size_t filled_ = 0;
  SysError error_;
};

}  // namespace pelton::storage
