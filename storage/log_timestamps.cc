// Log::Parts, lookups by time: which bytes of which segment are to be searched.
#include <algorithm>

#include "storage/log_parts.h"
#include "storage/timestamp_search.h"

namespace pelton::storage {

using proto::ErrorCode;

namespace {

// Largest timestamp among the batches of a segment below `end`, and its batch's last offset. The time index
// says it up to the last entry of the offset index before `end`; only what follows is read.
Result<TimeIndexEntry> largest_below(FileSystem& files, Segment& segment, uint64_t end) {
  if (end == segment.size()) return segment.largest_timestamp();
  Result<std::optional<OffsetIndexEntry>> indexed =
      segment.offset_index().last_before(segment.path(kOffsetIndexSuffix), end);
  if (!indexed) return std::unexpected(indexed.error());
  TimeIndexEntry largest{-1, segment.base_offset()};
  if (*indexed) {
    Result<TimeIndexEntry> entry =
        segment.time_index().last_up_to(segment.path(kTimeIndexSuffix), (*indexed)->offset);
    if (!entry) return entry;
    largest = *entry;
  }
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(file.error());
  HeaderReader headers(files, *file, *indexed ? (*indexed)->position : 0, end);
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    proto::BatchView header = headers.header();
    if (header.max_timestamp() > largest.timestamp) {
      largest = {header.max_timestamp(), header.last_offset()};
    }
  }
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  return largest;
}

// The same of what is left behind a log start, a bounded number of batches.
Result<TimeIndexEntry> largest_from(FileSystem& files, Segment& segment, int64_t log_start, uint64_t end) {
  constexpr int kMostBatches = 4096;
  Result<OffsetIndexEntry> from =
      segment.offset_index().lookup(segment.path(kOffsetIndexSuffix), log_start);
  if (!from) return std::unexpected(from.error());
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(file.error());
  TimeIndexEntry largest{-1, segment.base_offset()};
  HeaderReader headers(files, *file, from->position, end);
  ReadStep step = headers.next();
  for (int seen = 0; step == ReadStep::kBatch && seen < kMostBatches; step = headers.next(), ++seen) {
    proto::BatchView header = headers.header();
    if (header.last_offset() >= log_start && header.max_timestamp() > largest.timestamp) {
      largest = {header.max_timestamp(), header.last_offset()};
    }
  }
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  return largest;
}

}  // namespace

Result<TimestampSearch, ErrorCode> Log::Parts::make_search(Segment& segment, uint64_t position,
                                                           uint64_t end, int64_t timestamp) {
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(ErrorCode::kKafkaStorageError);
  TimestampSearch search;
  search.files = &files;
  search.file = *file;
  search.pin = SegmentPin(&segment);
  search.segment_base = segment.base_offset();
  search.position = position;
  search.end = end;
  search.timestamp = timestamp;
  search.from_offset = log_start_offset;
  return search;
}

Result<std::optional<TimestampSearch>, ErrorCode> Log::Parts::search_timestamp(int64_t timestamp,
                                                                               const LogPosition& upper,
                                                                               int64_t after_segment) {
  for (size_t i = segment_index(log_start_offset); i < segments.size(); ++i) {
    Segment& segment = *segments[i];
    uint64_t end = readable_end(segment, upper);
    if (end == 0 || segment.base_offset() <= after_segment) continue;
    Result<TimeIndexEntry> largest = segment.largest_timestamp();
    if (!largest) return std::unexpected(ErrorCode::kKafkaStorageError);
    if (largest->timestamp < timestamp) continue;
    Result<uint64_t> by_time = segment.position_for_timestamp(timestamp);
    Result<OffsetIndexEntry> start =
        segment.offset_index().lookup(segment.path(kOffsetIndexSuffix), log_start_offset);
    if (!by_time || !start) return std::unexpected(ErrorCode::kKafkaStorageError);
    auto search = make_search(segment, std::max(*by_time, start->position), end, timestamp);
    if (!search) return std::unexpected(search.error());
    return std::move(*search);
  }
  return std::nullopt;
}

Result<std::optional<TimestampSearch>, ErrorCode> Log::Parts::search_max_timestamp(
    const LogPosition& upper) {
  TimeIndexEntry largest;
  Segment* holder = nullptr;
  for (size_t i = segment_index(log_start_offset); i < segments.size(); ++i) {
    uint64_t end = readable_end(*segments[i], upper);
    if (end == 0) continue;
    Result<TimeIndexEntry> entry = largest_below(files, *segments[i], end);
    bool deleted = entry && entry->timestamp >= 0 && entry->offset < log_start_offset;
    if (deleted) entry = largest_from(files, *segments[i], log_start_offset, end);
    if (!entry) return std::unexpected(ErrorCode::kKafkaStorageError);
    if (entry->timestamp <= largest.timestamp) continue;
    largest = *entry;
    holder = segments[i].get();
  }
  if (holder == nullptr) return std::nullopt;
  Result<std::optional<BatchPlace>> place = holder->locate(largest.offset, readable_end(*holder, upper));
  if (!place) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (!*place) return std::nullopt;
  auto search = make_search(*holder, (*place)->position, (*place)->position + (*place)->size,
                            largest.timestamp);
  if (!search) return std::unexpected(search.error());
  return std::move(*search);
}

}  // namespace pelton::storage
