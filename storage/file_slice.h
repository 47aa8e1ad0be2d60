// FileSlice: a range of a segment file that may be handed to a socket as it is.
//
// The pin keeps the segment's descriptor open and its bytes in place (a deleted segment is renamed
// first and unlinked when the last pin is gone). A slice is made on the log's owner shard and may be
// sent from, and its pin released on, any shard: the count is atomic (made with acquire/release order),
// and the owner alone closes or unlinks, looking at the count when it wants to (a released pin never
// calls back). That costs one atomic add instead of a message for every answered fetch.
#pragma once

#include <cstdint>
#include <utility>

#include "reactor/file_system.h"

namespace pelton::storage {

class Segment;

class SegmentPin {
 public:
  SegmentPin() = default;
  explicit SegmentPin(Segment* segment);  // counts one up; owner shard only
  SegmentPin(SegmentPin&& other) noexcept : segment_(std::exchange(other.segment_, nullptr)) {}
  SegmentPin& operator=(SegmentPin&& other) noexcept;
  ~SegmentPin() { reset(); }
  void reset();  // counts one down; any shard

 private:
  Segment* segment_ = nullptr;
};

struct FileSlice {
  FileFd file = -1;
  int64_t segment_base = 0;
  uint64_t position = 0;
  uint32_t length = 0;  // 0 = nothing to give; file is -1 then
  uint32_t first_batch_bytes = 0;  // size of the first batch, which may be more than length holds
  SegmentPin pin;
};

}  // namespace pelton::storage
