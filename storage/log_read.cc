// Log::Parts, the reading half: from an offset to bytes of a file.
#include <algorithm>

#include "storage/log_parts.h"

namespace pelton::storage {

using proto::ErrorCode;

size_t Log::Parts::segment_index(int64_t offset) const {
  auto after = std::upper_bound(
      segments.begin(), segments.end(), offset,
      [](int64_t asked, const auto& segment) { return asked < segment->base_offset(); });
  return after == segments.begin() ? 0 : static_cast<size_t>(after - segments.begin()) - 1;
}

uint64_t Log::Parts::size_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : segments) bytes += segment->size();
  return bytes;
}

uint64_t Log::Parts::readable_end(const Segment& segment, const LogPosition& upper) const {
  if (segment.base_offset() > upper.segment_base) return 0;
  if (segment.base_offset() < upper.segment_base) return segment.written();
  return std::min(segment.written(), upper.position);
}

// Compaction and retention leave gaps: the batch may be in a later segment than the offset's own.
Result<Log::Parts::Found> Log::Parts::find_batch(int64_t offset) {
  for (const Recent& entry : recent) {
    const BatchPlace& place = entry.place;
    if (entry.segment_base < 0 || offset < place.base_offset || offset > place.last_offset) continue;
    if (place.last_offset >= written_end.offset) continue;
    return Found{segments[segment_index(place.base_offset)].get(), place};
  }
  for (size_t i = segment_index(offset); i < segments.size(); ++i) {
    Result<std::optional<BatchPlace>> place = segments[i]->locate(offset, segments[i]->written());
    if (!place) return std::unexpected(place.error());
    if (*place) return Found{segments[i].get(), **place};
  }
  return Found{};
}

Result<FileSlice, ErrorCode> Log::Parts::read(int64_t offset, uint32_t max_bytes,
                                              const LogPosition& upper, bool first_batch_whole) {
  if (offline) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (offset < log_start_offset || offset > next_offset) {
    return std::unexpected(ErrorCode::kOffsetOutOfRange);
  }
  FileSlice slice;
  if (offset >= upper.offset || offset >= written_end.offset) return slice;
  Result<Found> found = find_batch(offset);
  if (!found) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (found->segment == nullptr) return slice;
  Segment& segment = *found->segment;
  const BatchPlace& first = found->place;
  uint64_t end = readable_end(segment, upper);
  if (first.position + first.size > end) return slice;
  uint64_t limit = max_bytes;
  if (limit < first.size) {
    if (!first_batch_whole) return slice;
    limit = first.size;
  }
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(ErrorCode::kKafkaStorageError);
  slice.file = *file;
  slice.segment_base = segment.base_offset();
  slice.position = first.position;
  slice.length = static_cast<uint32_t>(std::min(limit, end - first.position));
  slice.first_batch_bytes = first.size;
  slice.pin = SegmentPin(&segment);
  return slice;
}

std::optional<LogPosition> Log::Parts::position_of(int64_t offset) {
  if (offset < log_start_offset || offset > next_offset) return std::nullopt;
  if (offset == next_offset) return LogPosition{next_offset, active().base_offset(), active().size()};
  if (offset == written_end.offset) return written_end;
  if (offset > written_end.offset) return std::nullopt;  // queued: in no file yet
  Result<Found> found = find_batch(offset);
  if (!found || found->segment == nullptr) return std::nullopt;
  return LogPosition{offset, found->segment->base_offset(), found->place.position};
}

uint64_t Log::Parts::bytes_between(const LogPosition& from, const LogPosition& to) const {
  if (from.segment_base > to.segment_base) return 0;
  if (from.segment_base == to.segment_base) {
    return to.position > from.position ? to.position - from.position : 0;
  }
  uint64_t bytes = to.position;
  for (size_t i = segment_index(from.segment_base); i < segments.size(); ++i) {
    const Segment& segment = *segments[i];
    if (segment.base_offset() >= to.segment_base) break;
    bool starts_here = segment.base_offset() == from.segment_base;
    bytes += segment.size() - (starts_here ? std::min(from.position, segment.size()) : 0);
  }
  return bytes;
}

Status Log::Parts::visit_batches(int64_t from_offset, void* visitor, VisitBatch visit) {
  if (offline) return std::unexpected(failure);
  int64_t from = std::max(from_offset, log_start_offset);
  for (size_t i = segment_index(from); i < segments.size(); ++i) {
    Segment& segment = *segments[i];
    Result<std::optional<BatchPlace>> start = segment.locate(from, segment.written());
    if (!start) return std::unexpected(start.error());
    if (!*start) continue;
    Result<FileFd> file = segment.file();
    if (!file) return std::unexpected(file.error());
    // The visitor may read this or other logs: the file stays open.
    SegmentPin pin(&segment);
    BatchReader batches(files, *file, (*start)->position, segment.written());
    ReadStep step = batches.next();
    for (; step == ReadStep::kBatch; step = batches.next()) {
      if (!visit(visitor, batches.batch())) return {};
    }
    if (step == ReadStep::kFailed) return std::unexpected(batches.error());
    if (step == ReadStep::kBad) return sys_error(EBADMSG);
  }
  return {};
}

}  // namespace pelton::storage
