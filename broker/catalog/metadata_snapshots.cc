#include "broker/catalog/metadata_snapshots.h"

#include <algorithm>
#include <utility>

#include "reactor/base/log.h"
#include "storage/drain.h"
#include "storage/log_deletion.h"
#include "storage/segment.h"

namespace pelton::broker {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kHeaderBytes = 64 * 1024;  // more than the first batch of any snapshot
constexpr uint64_t kRetryNs = uint64_t{60} * 1'000'000'000;

// The time of the newest record in a snapshot's file; that of the file when it does not say.
int64_t newest_record_ms(FileSystem& files, const std::string& path, FileFd file) {
  std::vector<uint8_t> beginning(kHeaderBytes);
  if (auto read = files.pread(file, beginning, 0)) {
    beginning.resize(*read);
    if (auto time = last_contained_timestamp(beginning)) return *time;
  }
  return files.modified_ms(path).value_or(0);
}

}  // namespace

MetadataSnapshots::MetadataSnapshots(BrokerShard& here, Partition& log)
    : here_(here),
      log_(log),
      next_piece_(Completion::bind<&MetadataSnapshots::write_piece>(this)),
      sync_(Completion::bind<&MetadataSnapshots::on_synced>(this)) {}

MetadataSnapshots::~MetadataSnapshots() {
  stopped_ = true;
  storage::drain(here_.shard.io(), [this] { return sync_.done.pending(); });
  close_file();
}

void MetadataSnapshots::loaded(uint64_t bytes) {
  FileSystem& files = here_.shard.io().files();
  const std::string& directory = log_.log().directory();
  remove_unfinished_snapshots(files, directory);
  for (const SnapshotName& name : list_snapshots(files, directory)) {
    auto file = files.open(path(name), OpenMode::kRead);
    if (!file) continue;
    files_.push_back({name, files.size(*file).value_or(0), newest_record_ms(files, path(name), *file)});
    files.close(*file);
  }
  bytes_since_ = bytes;
  if (bytes > 0) changed_since_ns_ = here_.shard.loop().now_ns();
}

void MetadataSnapshots::committed(size_t bytes, const CatalogReplay& state,
                                  const std::shared_ptr<const CatalogSnapshot>& snapshot) {
  bytes_since_ += bytes;
  if (changed_since_ns_ == 0) changed_since_ns_ = here_.shard.loop().now_ns();
  if (due() && !state.in_transaction()) begin(state, snapshot);
}

bool MetadataSnapshots::due() const {
  uint64_t now_ns = here_.shard.loop().now_ns();
  if (stopped_ || step_ != Step::kIdle || now_ns < not_before_ns_) return false;
  const BrokerConfig& config = here_.config;
  if (bytes_since_ >= static_cast<uint64_t>(config.metadata_snapshot_bytes)) return true;
  auto interval_ms = static_cast<uint64_t>(config.metadata_snapshot_interval_ms);
  return interval_ms > 0 && (now_ns - changed_since_ns_) / 1'000'000 >= interval_ms;
}

void MetadataSnapshots::begin(const CatalogReplay& state,
                              std::shared_ptr<const CatalogSnapshot> snapshot) {
  FileSystem& files = here_.shard.io().files();
  name_ = {.end_offset = state.end_offset(), .epoch = state.last_leader_epoch()};
  auto file = files.open(path(name_) + std::string(kUnfinishedSnapshotSuffix), OpenMode::kCreate);
  if (!file) return give_up(file.error());
  file_ = *file;
  size_ = 0;
  bytes_at_begin_ = std::exchange(bytes_since_, 0);
  changed_since_ns_ = 0;
  newest_record_ms_ = state.last_timestamp();
  records_ = std::make_unique<SnapshotRecords>(state, std::move(snapshot));
  batches_ = std::make_unique<SnapshotBatches>(name_.epoch, here_.shard.loop().wall_ms());
  step_ = Step::kWriting;
  Status done = files.truncate(file_, 0);
  if (done) done = write(batches_->header(state));
  if (!done) return give_up(done.error());
  here_.shard.loop().post(next_piece_);
}

Status MetadataSnapshots::write(const std::vector<uint8_t>& batch) {
  iovec piece{const_cast<uint8_t*>(batch.data()), batch.size()};
  Status done = here_.shard.io().files().pwritev(file_, &piece, 1, size_);
  size_ += batch.size();
  return done;
}

void MetadataSnapshots::write_piece(int32_t) {
  if (stopped_) return;
  MetadataRecords records;
  bool more = records_->next(records, kPieceBytes);
  Status done = write(more ? batches_->data(records) : batches_->footer());
  if (!done) return give_up(done.error());
  if (more) return here_.shard.loop().post(next_piece_);
  step_ = Step::kSyncing;
  here_.shard.io().sync(file_, sync_);
}

void MetadataSnapshots::on_synced(int32_t result) {
  if (stopped_) return;
  if (result < 0) return give_up(SysError{-result});
  if (step_ == Step::kSyncing) return name_file();
  written();
}

void MetadataSnapshots::name_file() {
  FileSystem& files = here_.shard.io().files();
  Status named = files.rename(path(name_) + std::string(kUnfinishedSnapshotSuffix), path(name_));
  auto directory = files.open(log_.log().directory(), OpenMode::kDirectory);
  if (!named) return give_up(named.error());
  if (!directory) return give_up(directory.error());
  directory_ = *directory;
  step_ = Step::kNaming;
  here_.shard.io().sync_file_system(directory_, sync_);
}

void MetadataSnapshots::written() {
  files_.push_back({name_, size_, newest_record_ms_});
  close_file();
  step_ = Step::kIdle;
  log_info("Snapshot of the metadata up to offset {}: {} bytes", name_.end_offset, size_);
  clean();
}

// The next one is tried after a while: what made this one fail may have passed.
void MetadataSnapshots::give_up(SysError why) {
  log_error("The snapshot of the metadata up to offset {} could not be written: {}", name_.end_offset,
            to_string(why));
  close_file();
  step_ = Step::kIdle;
  bytes_since_ += bytes_at_begin_;
  changed_since_ns_ = here_.shard.loop().now_ns();
  not_before_ns_ = changed_since_ns_ + kRetryNs;
}

void MetadataSnapshots::close_file() {
  FileSystem& files = here_.shard.io().files();
  if (file_ >= 0) files.close(std::exchange(file_, -1));
  if (directory_ >= 0) files.close(std::exchange(directory_, -1));
  records_.reset();
  batches_.reset();
}

void MetadataSnapshots::stop() { stopped_ = true; }

uint64_t MetadataSnapshots::total_bytes() const {
  uint64_t bytes = log_.log().size_bytes();
  for (const File& file : files_) bytes += file.size;
  return bytes;
}

bool MetadataSnapshots::expired(const File& file, int64_t now_ms) const {
  int64_t bytes = here_.config.metadata_retention_bytes, ms = here_.config.metadata_retention_ms;
  if (bytes >= 0 && total_bytes() > static_cast<uint64_t>(bytes)) return true;
  return ms >= 0 && now_ms - file.newest_record_ms > ms;
}

// The newest snapshot stays always. When one goes, the log begins where the one after it ends, and segments
// before that go too.
void MetadataSnapshots::clean() {
  int64_t now_ms = here_.shard.loop().wall_ms();
  storage::Log& log = log_.log();
  while (files_.size() > 1 && expired(files_.front(), now_ms)) {
    drop_oldest();
    log.set_log_start_offset(files_.front().name.end_offset);
    log.apply_retention(now_ms, log_.high_watermark().offset);
  }
}

void MetadataSnapshots::drop_oldest() {
  std::string from = path(files_.front().name);
  std::string to = from + storage::kDeletedSuffix;
  files_.erase(files_.begin());
  if (Status renamed = here_.shard.io().files().rename(from, to); !renamed) {
    return log_warn("{} could not be deleted: {}", from, to_string(renamed.error()));
  }
  here_.storage.deletions->delete_files({to}, log_.log().file_delete_delay_ms());
}

std::string MetadataSnapshots::path(const SnapshotName& name) const {
  return log_.log().directory() + "/" + name.file();
}

}  // namespace pelton::broker
