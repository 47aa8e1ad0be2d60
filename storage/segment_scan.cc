#include "storage/segment_scan.h"

#include <limits>

namespace pelton::storage {
namespace {

bool fits(const proto::BatchView& batch, const Segment& segment, int64_t expected) {
  int64_t last = batch.last_offset();
  return batch.base_offset() >= expected && last >= batch.base_offset() &&
         last < std::numeric_limits<int64_t>::max() &&
         last - segment.base_offset() <= std::numeric_limits<int32_t>::max();
}

Status take(Log::Parts& parts, const proto::BatchView& batch, Segment& segment, uint64_t position) {
  int32_t epoch = batch.partition_leader_epoch();
  if (epoch > parts.epochs.latest() && parts.epochs.assign(epoch, batch.base_offset())) {
    parts.epochs_dirty = true;
  }
  if (batch.has_producer_id()) {
    auto completed = parts.apply_to_producers(batch, segment, position);
    return completed ? Status() : std::unexpected(completed.error());
  }
  parts.producers->set_end_offset(batch.next_offset());
  return {};
}

// An entry has the position of the first batch of an append and the last offset of its last batch; Apache Kafka
// had appends of several batches before 4.0. Segment::locate_from believes no other entry.
bool tells_of_batches(FileSystem& files, FileFd file, const OffsetIndexEntry& entry, uint64_t size) {
  HeaderReader headers(files, file, entry.position, size);
  while (headers.next() == ReadStep::kBatch) {
    if (headers.header().last_offset() >= entry.offset) return headers.header().last_offset() == entry.offset;
  }
  return false;
}

}  // namespace

Result<ScanEnd> scan_segment(Log::Parts& parts, Segment& segment, int64_t expected, ScanFor what) {
  Result<FileFd> fd = segment.file();
  if (!fd) return std::unexpected(fd.error());
  uint64_t size = segment.size();
  if (Status reset = segment.reset_for_scan(what == ScanFor::kEverything); !reset) {
    return std::unexpected(reset.error());
  }
  SegmentPin pin(&segment);
  BatchReader batches(parts.files, *fd, 0, size);
  ScanEnd end{0, expected, true};
  ReadStep step = batches.next();
  for (; step == ReadStep::kBatch; step = batches.next()) {
    auto batch = proto::validate(batches.batch(), {proto::BatchOrigin::kLog, true});
    if (!batch || !fits(*batch, segment, end.next_offset)) break;
    Status taken = segment.note_append(*batch, parts.config.index_interval_bytes);
    if (taken && what == ScanFor::kEverything) taken = take(parts, *batch, segment, batches.position());
    if (taken) taken = segment.flush_indexes(false);
    if (!taken) return std::unexpected(taken.error());
    end.next_offset = batch->next_offset();
    end.position = batches.position() + batch->size();
  }
  if (step == ReadStep::kFailed) return std::unexpected(batches.error());
  end.whole = step == ReadStep::kEnd;
  return end;
}

bool indexes_sound(FileSystem& files, Segment& segment) {
  Result<OffsetIndexEntry> last = segment.offset_index().last(segment.path(kOffsetIndexSuffix));
  Result<TimeIndexEntry> time = segment.time_index().last(segment.path(kTimeIndexSuffix));
  Result<FileFd> fd = segment.file();
  if (!last || !time || !fd) return false;
  if (segment.time_index().file().entries() == 0) return false;
  if (time->timestamp >= 0 && time->offset < segment.base_offset()) return false;
  Result<bool> offsets_ascend = segment.offset_index().ascends(segment.path(kOffsetIndexSuffix));
  Result<bool> times_ascend = segment.time_index().ascends(segment.path(kTimeIndexSuffix));
  if (!offsets_ascend || !*offsets_ascend || !times_ascend || !*times_ascend) return false;
  if (segment.offset_index().file().entries() == 0) return true;
  if (last->position >= segment.size()) return false;
  return tells_of_batches(files, *fd, *last, segment.size());
}

Status take_epochs_from_headers(FileSystem& files, Segment& segment, LeaderEpochs& epochs) {
  Result<FileFd> file = segment.file();
  if (!file) return std::unexpected(file.error());
  HeaderReader headers(files, *file, 0, segment.size());
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    int32_t epoch = headers.header().partition_leader_epoch();
    if (epoch > epochs.latest()) epochs.assign(epoch, headers.header().base_offset());
  }
  return step == ReadStep::kFailed ? Status(std::unexpected(headers.error())) : Status();
}

}  // namespace pelton::storage
