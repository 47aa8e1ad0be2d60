// FileSlice: a range of a segment file that may be handed to a socket as it is.
//
// The pin keeps the segment's descriptor open and its bytes in place (a deleted segment is renamed
// first and unlinked when the last pin is gone). Owner shard: the log's; the pin's count is not
// atomic. A slice may be *read* (file, position, length) on another shard while the object that holds
// the pin is lent to it by message, and must come home to be released.
#pragma once

#include <cstdint>
#include <utility>

#include "reactor/file_system.h"

namespace pelton::storage {

class Segment;

class SegmentPin {
 public:
  SegmentPin() = default;
  explicit SegmentPin(Segment* segment);  // counts one up
  SegmentPin(SegmentPin&& other) noexcept : segment_(std::exchange(other.segment_, nullptr)) {}
  SegmentPin& operator=(SegmentPin&& other) noexcept;
  ~SegmentPin() { reset(); }
  void reset();  // counts one down

 private:
  Segment* segment_ = nullptr;
};

struct FileSlice {
  FileFd file = -1;
  uint64_t position = 0;
  uint32_t length = 0;  // 0 = nothing to give; file is -1 then
  SegmentPin pin;
};

}  // namespace pelton::storage
