// Log::Parts, lookups by time.
#include <algorithm>

#include "proto/record_scan.h"
#include "storage/log_parts.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;
using Answer = Result<TimestampOffset, ErrorCode>;

// Decompressed bytes one batch may take while it is searched; nothing of it is kept.
constexpr size_t kMaxScannedBytes = size_t{1} << 30;

Result<std::vector<uint8_t>> read_batch(FileSystem& files, FileFd file, uint64_t position,
                                        uint32_t size) {
  std::vector<uint8_t> batch(size);
  Result<size_t> got = files.pread(file, batch, position);
  if (!got) return std::unexpected(got.error());
  if (*got < batch.size()) return sys_error(EIO);
  return batch;
}

// The first record of the batch at or after `timestamp` and not before `from_offset`.
Answer find_record(const proto::BatchView& batch, int64_t timestamp, int64_t from_offset) {
  proto::RecordScanner records(batch.codec(), batch.records_bytes(), batch.count(), kMaxScannedBytes);
  proto::ScannedRecord record;
  while (records.next(record)) {
    int64_t time = batch.timestamp_at(record.timestamp_delta);
    int64_t offset = batch.offset_at(record.offset_delta);
    if (time < timestamp || offset < from_offset) continue;
    return TimestampOffset{time, offset, batch.partition_leader_epoch()};
  }
  if (!records.status()) return std::unexpected(ErrorCode::kCorruptMessage);
  return TimestampOffset{};
}

// Searches the batches of one segment between two positions.
Answer search(FileSystem& files, FileFd file, uint64_t position, uint64_t end, int64_t timestamp,
              int64_t from_offset) {
  HeaderReader headers(files, file, position, end);
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    proto::BatchView header = headers.header();
    if (header.max_timestamp() < timestamp || header.last_offset() < from_offset) continue;
    auto batch = read_batch(files, file, headers.position(), headers.size());
    if (!batch) return std::unexpected(ErrorCode::kKafkaStorageError);
    Answer found = find_record(proto::BatchView(*batch), timestamp, from_offset);
    if (!found || found->offset >= 0) return found;
  }
  if (step == ReadStep::kFailed) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (step == ReadStep::kBad) return std::unexpected(ErrorCode::kCorruptMessage);
  return TimestampOffset{};
}

// Largest timestamp among the batches of a segment below `end`, and its batch's last offset.
Result<TimeIndexEntry> largest_below(FileSystem& files, Segment& segment, uint64_t end) {
  if (end == segment.size()) return segment.largest_timestamp();
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(file.error());
  TimeIndexEntry largest{-1, segment.base_offset()};
  HeaderReader headers(files, *file, 0, end);
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

}  // namespace

Answer Log::Parts::offset_for_timestamp(int64_t timestamp, const LogPosition& upper) {
  for (size_t i = segment_index(log_start_offset); i < segments.size(); ++i) {
    Segment& segment = *segments[i];
    uint64_t end = readable_end(segment, upper);
    if (end == 0) continue;
    Result<TimeIndexEntry> largest = segment.largest_timestamp();
    if (!largest) return std::unexpected(ErrorCode::kKafkaStorageError);
    if (largest->timestamp < timestamp) continue;
    Result<uint64_t> position = segment.position_for_timestamp(timestamp);
    Result<FileFd> file = segment.file();
    if (!position || !file) return std::unexpected(ErrorCode::kKafkaStorageError);
    Answer found = search(files, *file, *position, end, timestamp, log_start_offset);
    if (!found || found->offset >= 0) return found;
  }
  return TimestampOffset{};
}

Answer Log::Parts::max_timestamp(const LogPosition& upper) {
  TimeIndexEntry largest;
  Segment* holder = nullptr;
  for (size_t i = segment_index(log_start_offset); i < segments.size(); ++i) {
    uint64_t end = readable_end(*segments[i], upper);
    if (end == 0) continue;
    Result<TimeIndexEntry> entry = largest_below(files, *segments[i], end);
    if (!entry) return std::unexpected(ErrorCode::kKafkaStorageError);
    if (entry->timestamp <= largest.timestamp) continue;
    largest = *entry;
    holder = segments[i].get();
  }
  if (holder == nullptr) return TimestampOffset{};
  uint64_t end = readable_end(*holder, upper);
  Result<std::optional<BatchPlace>> place = holder->locate(largest.offset, end);
  Result<FileFd> file = holder->file();
  if (!place || !file) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (!*place) return TimestampOffset{};
  auto batch = read_batch(files, *file, (*place)->position, (*place)->size);
  if (!batch) return std::unexpected(ErrorCode::kKafkaStorageError);
  return find_record(proto::BatchView(*batch), largest.timestamp, log_start_offset);
}

}  // namespace pelton::storage
