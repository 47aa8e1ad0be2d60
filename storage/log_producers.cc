// Log::Parts, the producers' half: loading, snapshots, transactions.
#include <algorithm>

#include "storage/log_parts.h"
#include "storage/open_file.h"
#include "storage/producer_snapshot.h"
#include "storage/transaction_index.h"

namespace pelton::storage {
namespace {

// What the transaction index has to hold of a transaction that `state` has just seen end.
AbortedTransaction index_entry(const CompletedTransaction& completed, const ProducerState& state) {
  std::optional<LogPosition> open = state.first_open_transaction();
  return {completed.producer_id, completed.first.offset, completed.last_offset,
          open ? open->offset : completed.last_offset + 1};
}

// Replays batches of a log into a producer state. Headers are enough but for control batches, whose record
// says how a transaction ended. A segment that is replayed from its beginning has its transaction index
// checked on the way, and made again when it is not what the batches say: it may have been lost.
class Replay {
 public:
  Replay(FileSystem& files, ProducerState& state) : files_(files), state_(state) {}

  // The batches that begin at or after the state's end.
  Status segment(Segment& segment) {
    Result<std::optional<BatchPlace>> start = segment.locate(state_.end_offset(), segment.written());
    if (!start) return std::unexpected(start.error());
    if (!*start) return {};
    Result<FileFd> fd = segment.file();
    if (!fd) return std::unexpected(fd.error());
    bool whole = (*start)->position == 0 && state_.end_offset() <= (*start)->base_offset;
    aborted_.clear();
    HeaderReader headers(files_, *fd, (*start)->position, segment.written());
    ReadStep step = headers.next();
    for (; step == ReadStep::kBatch; step = headers.next()) {
      if (Status taken = take(headers, *fd, segment); !taken) return taken;
    }
    if (step == ReadStep::kFailed) return std::unexpected(headers.error());
    if (step != ReadStep::kEnd) return sys_error(EBADMSG);
    return whole ? check_index(segment) : Status();
  }

 private:
  Status take(HeaderReader& headers, FileFd fd, const Segment& segment) {
    proto::BatchView view = headers.header();
    if (view.base_offset() < state_.end_offset() || !view.has_producer_id()) return {};
    if (view.control()) {
      control_.resize(headers.size());
      Result<size_t> got = files_.pread(fd, control_, headers.position());
      if (!got) return std::unexpected(got.error());
      if (*got < control_.size()) return sys_error(EIO);
      view = proto::BatchView(control_);
    }
    auto completed =
        state_.apply(view, {view.base_offset(), segment.base_offset(), headers.position()});
    if (completed && completed->aborted) aborted_.push_back(index_entry(*completed, state_));
    return {};
  }

  Status check_index(Segment& segment) {
    std::string path = segment.path(kTransactionIndexSuffix);
    Result<std::vector<AbortedTransaction>> found = read_transaction_index(files_, path);
    if (found && *found == aborted_) return {};
    if (!found && found.error().code != EBADMSG) return std::unexpected(found.error());
    return write_transaction_index(files_, path, aborted_);
  }

  FileSystem& files_;
  ProducerState& state_;
  std::vector<uint8_t> control_;
  std::vector<AbortedTransaction> aborted_;  // in the segment that is being replayed
};

}  // namespace

Status Log::Parts::load_producers() {
  auto state = std::make_unique<ProducerState>();
  state->set_end_offset(log_start_offset);
  snapshot_offset = -1;
  for (size_t i = snapshots.size(); i-- > 0;) {
    if (snapshots[i] > written_end.offset) continue;
    Result<std::string> text =
        read_file(files, path(segment_file_name(snapshots[i], kSnapshotSuffix)), kMaxSnapshotBytes);
    if (!text) continue;
    std::optional<ProducerState> loaded = decode_producer_snapshot(as_bytes(*text));
    if (!loaded) continue;
    *state = std::move(*loaded);
    state->set_end_offset(snapshots[i]);
    snapshot_offset = snapshots[i];
    break;
  }
  Replay replay(files, *state);
  for (size_t i = segment_index(state->end_offset()); i < segments.size(); ++i) {
    // Recovery has not looked at what is behind the end yet: it may be torn.
    if (std::max(state->end_offset(), segments[i]->base_offset()) >= written_end.offset) break;
    if (Status replayed = replay.segment(*segments[i]); !replayed) return replayed;
  }
  state->set_end_offset(next_offset);
  state->expire(storage.loop.wall_ms(), config.producer_id_expiration_ms);
  producers = std::move(state);
  return {};
}

Result<std::optional<CompletedTransaction>> Log::Parts::apply_to_producers(
    const proto::BatchView& batch, Segment& segment, uint64_t position) {
  std::optional<CompletedTransaction> completed =
      producers->apply(batch, {batch.base_offset(), segment.base_offset(), position});
  if (completed && completed->aborted) {
    Status noted = segment.note_aborted(index_entry(*completed, *producers));
    if (!noted) return std::unexpected(noted.error());
  }
  return completed;
}

// Written without waiting for the disk: its checksum tells a torn one, and an older one does too.
Status Log::Parts::write_snapshot(int64_t offset) {
  std::vector<uint8_t> bytes = encode_producer_snapshot(*producers);
  Result<OpenFile> file = OpenFile::open(
      files, path(segment_file_name(offset, kSnapshotSuffix)), OpenMode::kCreate);
  if (!file) return std::unexpected(file.error());
  if (Status cut = files.truncate(file->fd(), 0); !cut) return cut;
  iovec piece{bytes.data(), bytes.size()};
  if (Status wrote = files.pwritev(file->fd(), &piece, 1, 0); !wrote) return wrote;
  snapshot_offset = offset;
  // Kept: one for each segment's start and the newest. Others were the newest once.
  for (size_t i = 0; i < snapshots.size();) {
    int64_t old = snapshots[i];
    bool starts_segment =
        std::any_of(segments.begin(), segments.end(),
                    [old](const auto& segment) { return segment->base_offset() == old; });
    if (old == offset || !starts_segment) {
      if (old != offset) (void)files.unlink(path(segment_file_name(old, kSnapshotSuffix)));
      snapshots.erase(snapshots.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  snapshots.insert(std::upper_bound(snapshots.begin(), snapshots.end(), offset), offset);
  return {};
}

void Log::Parts::find_unsynced_aborts(int64_t base_offset) {
  if (unsynced_aborts_from < 0 || unsynced_aborts_from >= base_offset) return;
  unsynced_aborts_from = -1;
  for (size_t i = segment_index(base_offset); i + 1 < segments.size(); ++i) {
    if (segments[i]->transaction_index().file().entries() == 0) continue;
    unsynced_aborts_from = segments[i]->base_offset();
    return;
  }
}

std::optional<LogPosition> Log::Parts::first_unstable(int64_t high_watermark) {
  std::optional<LogPosition> first = producers->first_unstable(high_watermark);
  if (!first) return first;
  // What was deleted before it has no end any more.
  int64_t offset = std::max(first->offset, log_start_offset);
  if (offset == first->offset && first->segment_base != kUnknownSegment) return first;
  if (std::optional<LogPosition> found = position_of(offset)) return found;
  // Unreadable: nothing of its segment is shown.
  return LogPosition{offset, segments[segment_index(offset)]->base_offset(), 0};
}

Result<std::vector<AbortedTransaction>, proto::ErrorCode> Log::Parts::aborted_transactions(
    int64_t offset, const FileSlice& slice) {
  std::vector<AbortedTransaction> aborted;
  size_t at = segment_index(slice.segment_base);
  Result<int64_t> upper = upper_bound_of(at, slice.position + slice.length);
  if (!upper) return std::unexpected(proto::ErrorCode::kKafkaStorageError);
  for (; at < segments.size(); ++at) {
    Segment& segment = *segments[at];
    Result<bool> complete = segment.transaction_index().collect(
        segment.path(kTransactionIndexSuffix), offset, *upper, aborted);
    if (!complete) return std::unexpected(proto::ErrorCode::kKafkaStorageError);
    if (*complete) break;
  }
  return aborted;
}

// An offset above everything that begins before `position`: what the offset index says, so it may be
// above more than that.
Result<int64_t> Log::Parts::upper_bound_of(size_t index, uint64_t position) {
  Segment& segment = *segments[index];
  Result<std::optional<OffsetIndexEntry>> entry =
      segment.offset_index().first_from(segment.path(kOffsetIndexSuffix), position);
  if (!entry) return std::unexpected(entry.error());
  if (*entry) return (*entry)->offset;
  return index + 1 < segments.size() ? segments[index + 1]->base_offset() : next_offset;
}

}  // namespace pelton::storage
