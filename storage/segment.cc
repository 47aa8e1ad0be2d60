#include "storage/segment.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "reactor/base/check.h"

namespace pelton::storage {

SegmentPin::SegmentPin(Segment* segment) : segment_(segment) {
  if (segment_ != nullptr) segment_->pins_.fetch_add(1, std::memory_order_relaxed);
}

SegmentPin& SegmentPin::operator=(SegmentPin&& other) noexcept {
  if (this != &other) {
    reset();
    segment_ = std::exchange(other.segment_, nullptr);
  }
  return *this;
}

// The last thing done with the segment: its owner may destroy it as soon as the count is zero.
void SegmentPin::reset() {
  if (segment_ != nullptr) std::exchange(segment_, nullptr)->pins_.fetch_sub(1, std::memory_order_release);
}

std::string segment_file_name(int64_t base_offset, std::string_view suffix) {
  return fmt::format("{:020}{}", base_offset, suffix);
}

Segment::Segment(DescriptorCache& descriptors, IndexBlockCache& blocks,
                 std::shared_ptr<const std::string> directory, int64_t base_offset)
    : descriptors_(descriptors),
      files_(descriptors.files()),
      directory_(std::move(directory)),
      base_offset_(base_offset),
      offset_index_(files_, blocks, base_offset),
      time_index_(files_, blocks, base_offset),
      transaction_index_(files_, blocks),
      largest_{-1, base_offset},
      last_time_entry_{-1, base_offset} {}

Segment::~Segment() {
  CHECK(!pinned(), "a pinned segment is destroyed");
  descriptors_.close(*this);
}

std::string Segment::path(std::string_view suffix) const {
  return *directory_ + "/" + segment_file_name(base_offset_, suffix);
}

const std::string& Segment::offset_index_path() {
  if (offset_index_path_.empty()) offset_index_path_ = path(kOffsetIndexSuffix);
  return offset_index_path_;
}

Status Segment::create() {
  Result<FileFd> file = files_.open(path(kLogSuffix), OpenMode::kCreateNew);
  if (!file) return std::unexpected(file.error());
  descriptors_.adopt(*this, *file);
  offset_index_.file().start_empty();
  time_index_.file().start_empty();
  transaction_index_.file().start_empty();
  timestamps_loaded_ = true;
  return {};
}

// Roll rules: the batch would make the segment longer than segment.bytes; the first batch is older than
// segment.ms (less some jitter, so that not all logs roll at once), in record time; an index is full; the
// offset does not fit the indexes' 31 bits.
Result<bool> Segment::must_roll(const proto::BatchView& batch, int64_t last_offset,
                                const LogConfig& config, int64_t now_ms) {
  // An empty segment takes any batch: segment.index.bytes may be too small for a single entry.
  if (size_ == 0) return false;
  uint64_t limit = static_cast<uint64_t>(config.segment_bytes);
  if (size_ + batch.size() > limit) return true;
  if (last_offset - base_offset_ > std::numeric_limits<int32_t>::max()) return true;
  if (offset_index_.full(config.segment_index_bytes)) return true;
  if (time_index_.full(config.segment_index_bytes)) return true;
  Result<int64_t> first = first_batch_timestamp();
  if (!first) return std::unexpected(first.error());
  // A client's timestamp may be anything: a difference is only taken where there is one.
  int64_t newest = batch.max_timestamp();
  int64_t most = config.segment_ms - roll_jitter_ms_;
  if (*first >= 0) return newest > *first && newest - *first > most;
  Result<int64_t> modified = modified_ms();
  return modified && now_ms - *modified > most;
}

Result<int64_t> Segment::first_batch_timestamp() {
  if (first_batch_timestamp_) return *first_batch_timestamp_;
  if (written_ == 0) return -1;
  Result<FileFd> fd = file();
  if (!fd) return std::unexpected(fd.error());
  HeaderReader headers(files_, *fd, 0, written_);
  ReadStep step = headers.next();
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  first_batch_timestamp_ = step == ReadStep::kBatch ? headers.header().max_timestamp() : -1;
  return *first_batch_timestamp_;
}

// The time index is only ahead of what was read from it at load; the newest entry of a segment that was
// closed in order is its largest timestamp.
Status Segment::load_timestamps() {
  if (timestamps_loaded_) return {};
  Result<TimeIndexEntry> last = time_index_.last(path(kTimeIndexSuffix));
  if (!last) return std::unexpected(last.error());
  last_time_entry_ = *last;
  largest_ = *last;
  timestamps_loaded_ = true;
  return {};
}

Status Segment::note_append(const proto::BatchView& batch, int32_t index_interval_bytes) {
  if (Status loaded = load_timestamps(); !loaded) return loaded;
  // Only once: a name is memory from the allocator.
  if (!offset_index_.file().opened()) {
    if (Status opened = offset_index_.file().open(offset_index_path()); !opened) return opened;
  }
  touched_ = true;
  if (size_ == 0) first_batch_timestamp_ = batch.max_timestamp();
  if (batch.max_timestamp() > largest_.timestamp) {
    largest_ = {batch.max_timestamp(), batch.last_offset()};
  }
  if (bytes_since_index_entry_ > static_cast<uint64_t>(index_interval_bytes)) {
    offset_index_.append(batch.last_offset(), size_);
    if (time_index_.maybe_append(last_time_entry_, largest_)) last_time_entry_ = largest_;
    bytes_since_index_entry_ = 0;
  }
  size_ += batch.size();
  bytes_since_index_entry_ += batch.size();
  return {};
}

void Segment::remember() {
  remembered_ = {bytes_since_index_entry_,
                 largest_,
                 last_time_entry_,
                 first_batch_timestamp_,
                 offset_index_.file().unwritten_entries(),
                 time_index_.file().unwritten_entries(),
                 transaction_index_.file().unwritten_entries()};
}

Status Segment::go_back(bool cut) {
  bytes_since_index_entry_ = remembered_.bytes_since_index_entry;
  largest_ = remembered_.largest;
  last_time_entry_ = remembered_.last_time_entry;
  first_batch_timestamp_ = remembered_.first_batch_timestamp;
  offset_index_.file().keep_unwritten(remembered_.offset_entries);
  time_index_.file().keep_unwritten(remembered_.time_entries);
  transaction_index_.file().keep_unwritten(remembered_.transaction_entries);
  size_ = written_;
  return cut ? truncate(written_) : Status();
}

Status Segment::note_aborted(const AbortedTransaction& aborted) {
  Status opened = transaction_index_.file().open(path(kTransactionIndexSuffix));
  if (opened) transaction_index_.append(aborted);
  return opened;
}

Status Segment::flush_indexes(bool all) {
  if (transaction_index_.file().unwritten()) {
    Status done = transaction_index_.file().flush(path(kTransactionIndexSuffix));
    if (!done) return done;
  }
  if (all || offset_index_.file().wants_flush()) {
    if (Status done = offset_index_.file().flush(path(kOffsetIndexSuffix), all); !done) return done;
  }
  if (all || time_index_.file().wants_flush()) {
    if (Status done = time_index_.file().flush(path(kTimeIndexSuffix), all); !done) return done;
  }
  return {};
}

Status Segment::finish() {
  if (!touched_) return {};
  if (time_index_.maybe_append(last_time_entry_, largest_)) last_time_entry_ = largest_;
  if (Status flushed = flush_indexes(true); !flushed) return flushed;
  touched_ = false;
  if (reserved_ <= written_) return {};
  Result<FileFd> fd = file();
  if (!fd) return std::unexpected(fd.error());
  reserved_ = 0;
  return files_.truncate(*fd, written_);
}

Status Segment::reset_for_scan(bool transactions) {
  if (transactions) {
    Status done = transaction_index_.file().reset(path(kTransactionIndexSuffix));
    // There is none where nothing was aborted.
    if (done) done = files_.unlink(path(kTransactionIndexSuffix));
    if (!done && done.error().code != ENOENT) return done;
  }
  if (Status done = offset_index_.file().reset(path(kOffsetIndexSuffix)); !done) return done;
  if (Status done = time_index_.file().reset(path(kTimeIndexSuffix)); !done) return done;
  size_ = 0;
  largest_ = last_time_entry_ = {-1, base_offset_};
  timestamps_loaded_ = true;
  bytes_since_index_entry_ = 0;
  return {};
}

Status Segment::truncate(uint64_t size) {
  Result<FileFd> fd = file();
  if (!fd) return std::unexpected(fd.error());
  if (Status cut = files_.truncate(*fd, size); !cut) return cut;
  size_ = written_ = size;
  reserved_ = 0;
  return {};
}

// Small logs reserve nothing: a thousand idle partitions must not take the disk. Later the steps grow
// with the file. A refusal is no error; the write itself will tell.
void Segment::reserve_ahead(uint64_t bytes, uint64_t limit) {
  constexpr uint64_t kFirst = 1 << 20;
  constexpr uint64_t kLargestStep = 64 << 20;
  uint64_t end = written_ + bytes;
  if (end < kFirst || end <= reserved_ || end >= limit) return;
  uint64_t step = std::clamp(written_, kFirst, kLargestStep);
  uint64_t start = std::max(reserved_, written_);
  uint64_t target = std::min(std::max(end, start + step), limit);
  Result<FileFd> fd = file();
  if (fd && files_.reserve(*fd, start, target - start)) reserved_ = target;
}

Result<int64_t> Segment::modified_ms() const { return files_.modified_ms(path(kLogSuffix)); }

Result<std::optional<BatchPlace>> Segment::locate(int64_t offset, uint64_t end) {
  Result<OffsetIndexEntry> from = offset_index_.lookup(offset_index_path(), offset);
  if (!from) return std::unexpected(from.error());
  Result<FileFd> fd = file();
  if (!fd) return std::unexpected(fd.error());
  auto found = locate_from(*fd, *from, offset, end);
  // An index that is not what the batches say costs time, never records.
  bool misled = !found && found.error().code == EBADMSG && from->position > 0;
  return misled ? locate_from(*fd, {base_offset_, 0}, offset, end) : found;
}

// EBADMSG: no batches lie there, or not the one that the entry speaks of.
Result<std::optional<BatchPlace>> Segment::locate_from(FileFd fd, const OffsetIndexEntry& from,
                                                       int64_t offset, uint64_t end) {
  HeaderReader headers(files_, fd, from.position, end);
  ReadStep step = headers.next();
  // An entry has the position of the first batch of an append and, as Apache Kafka wrote it before 4.0, the last
  // offset of its last batch.
  bool other = from.position > 0 && step == ReadStep::kBatch &&
               (headers.header().base_offset() > offset || headers.header().last_offset() > from.offset);
  if (other) return sys_error(EBADMSG);
  for (; step == ReadStep::kBatch; step = headers.next()) {
    proto::BatchView header = headers.header();
    if (header.last_offset() >= offset) {
      return BatchPlace{header.base_offset(), header.last_offset(), headers.position(),
                        headers.size()};
    }
  }
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  if (step == ReadStep::kBad) return sys_error(EBADMSG);
  return std::nullopt;
}

Result<TimeIndexEntry> Segment::largest_timestamp() {
  if (Status loaded = load_timestamps(); !loaded) return std::unexpected(loaded.error());
  return largest_;
}

Result<uint64_t> Segment::position_for_timestamp(int64_t timestamp) {
  Result<TimeIndexEntry> from = time_index_.lookup(path(kTimeIndexSuffix), timestamp);
  if (!from) return std::unexpected(from.error());
  Result<OffsetIndexEntry> at = offset_index_.lookup(path(kOffsetIndexSuffix), from->offset);
  if (!at) return std::unexpected(at.error());
  return at->position;
}

Result<std::optional<int64_t>> Segment::next_offset() {
  if (written_ == 0) return base_offset_;
  // A small file is read faster than its index is opened: a start looks at every partition.
  constexpr uint64_t kSmall = 4096;
  Result<OffsetIndexEntry> from = OffsetIndexEntry{base_offset_, 0};
  if (written_ > kSmall) from = offset_index_.last(path(kOffsetIndexSuffix));
  if (!from) return std::unexpected(from.error());
  Result<FileFd> fd = file();
  if (!fd) return std::unexpected(fd.error());
  HeaderReader headers(files_, *fd, from->position, written_);
  int64_t next = base_offset_;
  bool any = false;
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    next = headers.header().next_offset();
    any = true;
  }
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  if (step == ReadStep::kBad || !any) return std::optional<int64_t>();
  return next;
}

}  // namespace pelton::storage
