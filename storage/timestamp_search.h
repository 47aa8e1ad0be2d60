// TimestampSearch: one segment's share of a lookup by time: the bytes in which the record may be. Found and
// pinned by the log's owner; the search itself reads the file and decompresses batches, and may run on
// another thread (large or compressed batches take their time).
//
// Lifetime: the file system's; the pin keeps the file open and its bytes in place.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/compression.h"
#include "proto/error_code.h"
#include "reactor/base/result.h"
#include "storage/file_slice.h"
#include "storage/log.h"

namespace pelton::storage {

struct TimestampSearch {
  struct Limits {
    size_t headers;     // of batches that are looked at
    size_t batch;       // bytes of a batch that is opened
    size_t output;      // decompressed bytes of one batch
  };
  static constexpr Limits kNoLimits{SIZE_MAX, SIZE_MAX, size_t{1} << 30};

  // nullopt: the limits do not allow it. Offset -1: no such record here. Errors: kKafkaStorageError,
  // kCorruptMessage.
  Result<std::optional<TimestampOffset>, proto::ErrorCode> run(const Limits& limits,
                                                               proto::CodecContexts* contexts) const;

  FileSystem* files = nullptr;
  FileFd file = -1;
  SegmentPin pin;
  int64_t segment_base = -1;
  uint64_t position = 0;
  uint64_t end = 0;
  int64_t timestamp = 0;    // the first record at or after it,
  int64_t from_offset = 0;  // and not before this offset
};

}  // namespace pelton::storage
