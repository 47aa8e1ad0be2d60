// Log::Parts, the producers' half: loading, snapshots, transactions.
#include <algorithm>

#include "storage/log_parts.h"
#include "storage/open_file.h"
#include "storage/producer_snapshot.h"
#include "storage/transaction_index.h"

namespace pelton::storage {
namespace {

// Replays the batches of one segment that begin at or after the state's end. Headers are enough but for
// control batches, whose record says how a transaction ended.
Status replay(FileSystem& files, Segment& segment, ProducerState& state) {
  Result<std::optional<BatchPlace>> start = segment.locate(state.end_offset(), segment.written());
  if (!start) return std::unexpected(start.error());
  if (!*start) return {};
  Result<FileFd> fd = segment.file();
  if (!fd) return std::unexpected(fd.error());
  HeaderReader headers(files, *fd, (*start)->position, segment.written());
  std::vector<uint8_t> whole;
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    proto::BatchView view = headers.header();
    if (view.base_offset() < state.end_offset() || !view.has_producer_id()) continue;
    if (view.control()) {
      whole.resize(headers.size());
      Result<size_t> got = files.pread(*fd, whole, headers.position());
      if (!got) return std::unexpected(got.error());
      if (*got < whole.size()) return sys_error(EIO);
      view = proto::BatchView(whole);
    }
    state.apply(view);
  }
  if (step == ReadStep::kFailed) return std::unexpected(headers.error());
  return step == ReadStep::kEnd ? Status() : sys_error(EBADMSG);
}

}  // namespace

Status Log::Parts::load_producers() {
  if (producers) return {};
  auto state = std::make_unique<ProducerState>();
  state->set_end_offset(log_start_offset);
  for (size_t i = snapshots.size(); i-- > 0;) {
    if (snapshots[i] > written_end.offset) continue;
    Result<std::string> text =
        read_file(files, path(segment_file_name(snapshots[i], kSnapshotSuffix)), kMaxSnapshotBytes);
    if (!text) continue;
    std::optional<ProducerState> loaded = decode_producer_snapshot(as_bytes(*text));
    if (!loaded) continue;
    *state = std::move(*loaded);
    state->set_end_offset(snapshots[i]);
    break;
  }
  // Batches that are queued now have no producer id: the first one that has comes through here.
  for (size_t i = segment_index(state->end_offset()); i < segments.size(); ++i) {
    if (state->end_offset() >= written_end.offset) break;
    if (Status replayed = replay(files, *segments[i], *state); !replayed) return replayed;
  }
  state->set_end_offset(next_offset);
  state->expire(storage.loop.wall_ms(), config.producer_id_expiration_ms);
  producers = std::move(state);
  return {};
}

Status Log::Parts::apply_to_producers(const proto::BatchView& batch, Segment& segment) {
  std::optional<CompletedTransaction> completed = producers->apply(batch);
  if (!completed || !completed->aborted) return {};
  int64_t stable = producers->first_open_transaction().value_or(completed->last_offset + 1);
  return append_aborted_transaction(files, segment.path(kTransactionIndexSuffix),
                                    {completed->producer_id, completed->first_offset,
                                     completed->last_offset, stable});
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

}  // namespace pelton::storage
