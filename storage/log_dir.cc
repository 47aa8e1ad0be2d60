#include "storage/log_dir.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "storage/checkpoint.h"
#include "storage/log_deletion.h"
#include "storage/log_dir_names.h"
#include "storage/log_dir_state.h"
#include "storage/log_parts.h"
#include "storage/open_file.h"
#include "storage/recovery.h"

namespace pelton::storage {
namespace {

constexpr int64_t kNoBrokerEpoch = -1;

using Failure = std::unexpected<std::string>;

std::string sentence(const std::string& path, SysError error) {
  return fmt::format("{}: {}", path, to_string(error));
}

}  // namespace

LogDir::LogDir(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogDir::~LogDir() = default;

Result<std::unique_ptr<LogDir>, std::string> LogDir::open(Io& io, const LogDirOptions& options) {
  auto state = std::make_unique<State>(io, options);
  if (auto opened = state->open(); !opened) return Failure(opened.error());
  return std::unique_ptr<LogDir>(new LogDir(std::move(state)));
}

const std::string& LogDir::path() const { return state_->options.path; }
const std::string& LogDir::cluster_id() const { return state_->properties.cluster_id; }
int32_t LogDir::node_id() const { return state_->properties.node_id; }
Uuid LogDir::directory_id() const { return state_->properties.directory_id; }
bool LogDir::clean_start() const { return state_->clean; }
const std::vector<FoundPartition>& LogDir::partitions() const { return state_->partitions; }
std::vector<std::string> LogDir::take_leftovers() { return std::exchange(state_->leftovers, {}); }

Result<std::unique_ptr<Log>> LogDir::create_log(ShardStorage& storage, LogObserver& observer,
                                                const TopicPartition& id, Uuid topic_id,
                                                const LogConfig& config) {
  FileSystem& files = storage.descriptors->files();
  std::string name = id.directory_name();
  std::string directory = state_->path(name);
  {
    // An earlier partition of that name that nobody has forgotten: a new log that the old recovery point
    // speaks of would look damaged.
    std::lock_guard guard(state_->checkpoints_mutex);
    if (state_->checkpoints.erase(name) > 0) {
      Status gone = state_->save_checkpoints();
      if (gone) gone = state_->save_log_starts();
      if (gone) gone = files.sync_file_system(state_->directory);
      if (!gone) return std::unexpected(gone.error());
    }
  }
  if (files.exists(directory)) {
    if (Status cleared = state_->clear_unfinished(directory); !cleared) {
      return std::unexpected(cleared.error());
    }
  }
  if (Status made = files.make_directory(directory); !made) return std::unexpected(made.error());
  // In place: without its text a directory counts as one whose creation never ended. Cutting or renaming a file
  // that was just made would let ext4 begin its writeback.
  Status wrote = write_new_file(files, directory + "/" + kPartitionMetadata, format_partition_metadata(topic_id));
  if (!wrote) return std::unexpected(wrote.error());
  auto parts =
      std::make_unique<Log::Parts>(storage, observer, state_->options.path, name, topic_id, config);
  Result<DirectorySync*> sync = storage.syncs->directory(state_->options.path);
  if (!sync) return std::unexpected(sync.error());
  state_->open_marks(**sync);
  parts->directory_sync = *sync;
  parts->directory_durable = false;
  // Makes the first segment.
  if (auto loaded = load_log_parts(*parts, {.clean = true, .is_new = true}); !loaded) return sys_error(EIO);
  parts->add_mark(id.partition, 0);
  return std::make_unique<Log>(std::move(parts));
}

Result<std::unique_ptr<Log>, std::string> LogDir::load_log(ShardStorage& storage,
                                                           LogObserver& observer,
                                                           const TopicPartition& id,
                                                           const LogConfig& config) {
  std::string name = id.directory_name();
  auto found = state_->topic_ids.find(name);
  Uuid topic_id = found == state_->topic_ids.end() ? Uuid{} : found->second;
  auto parts =
      std::make_unique<Log::Parts>(storage, observer, state_->options.path, name, topic_id, config);
  Result<DirectorySync*> sync = storage.syncs->directory(state_->options.path);
  if (!sync) return Failure(sentence(state_->options.path, sync.error()));
  state_->open_marks(**sync);
  parts->directory_sync = *sync;
  PartitionCheckpoint checkpoint = checkpoint_of(id).value_or(PartitionCheckpoint{});
  int64_t durable = std::max(checkpoint.recovery_point, durable_offset(topic_id, id.partition));
  LoadOptions load{state_->clean, checkpoint.recovery_point, checkpoint.log_start_offset, durable,
                   state_->sync_failed};
  if (!state_->clean) state_->unsettled = true;
  if (auto loaded = load_log_parts(*parts, load); !loaded) return Failure(loaded.error());
  // After any other stop than a clean one the end may be in the page cache only; a sync will tell.
  parts->add_mark(id.partition, state_->clean ? parts->synced_end.offset : durable);
  return std::make_unique<Log>(std::move(parts));
}

std::unique_ptr<Log> LogDir::offline_log(ShardStorage& storage, LogObserver& observer,
                                         const TopicPartition& id, Uuid topic_id,
                                         const LogConfig& config) {
  auto parts = std::make_unique<Log::Parts>(storage, observer, state_->options.path, id.directory_name(),
                                            topic_id, config);
  PartitionCheckpoint checkpoint = checkpoint_of(id).value_or(PartitionCheckpoint{});
  int64_t end = std::max(checkpoint.recovery_point, durable_offset(topic_id, id.partition));
  parts->begin_offline(checkpoint.log_start_offset, end);
  // The next start has to know as much as this one.
  if (Result<DirectorySync*> sync = storage.syncs->directory(state_->options.path)) {
    state_->open_marks(**sync);
    parts->directory_sync = *sync;
    parts->add_mark(id.partition, end);
  }
  parts->synced_end.offset = checkpoint.recovery_point;
  return std::make_unique<Log>(std::move(parts));
}

int64_t LogDir::durable_offset(Uuid topic_id, int32_t partition) const {
  auto found = state_->durable_offsets.find(mark_name(topic_id, partition));
  return found == state_->durable_offsets.end() ? 0 : found->second;
}

void LogDir::all_loaded() {
  for (const std::string& file : state_->old_marks) (void)state_->files.unlink(file);
  state_->old_marks.clear();
}

void LogDir::delete_log(ShardStorage& storage, std::unique_ptr<Log> log, const TopicPartition& id) {
  std::string to = state_->path(deleted_directory_name(id, random_uuid(storage.loop.io())));
  int64_t delay_ms = log->file_delete_delay_ms();
  Status renamed = storage.descriptors->files().rename(log->directory(), to);
  log.reset();
  if (renamed) storage.deletions->delete_directory(std::move(to), delay_ms);
}

Status LogDir::set_aside(const TopicPartition& id) {
  std::string to = state_->path(stray_directory_name(id, random_uuid(state_->io)));
  if (Status renamed = state_->files.rename(state_->path(id.directory_name()), to); !renamed)
    return renamed;
  // Gone from what was found: a topic of that name and another id gets a new directory.
  state_->take_out(id);
  state_->unsettled = true;
  return forget({id});
}

bool LogDir::discard_unfinished(const FoundPartition& found) {
  std::string name = found.id.directory_name();
  if (!found.topic_id.is_zero() || !state_->clear_unfinished(state_->path(name))) return false;
  state_->take_out(found.id);
  return true;
}

Status LogDir::settle() {
  if (!state_->unsettled.exchange(false)) return {};
  {
    std::lock_guard guard(state_->checkpoints_mutex);
    if (Status saved = state_->save_log_starts(); !saved) return saved;
  }
  Status synced = state_->files.sync_file_system(state_->directory);
  if (!synced) state_->note_failed_sync();
  return synced;
}

std::optional<PartitionCheckpoint> LogDir::checkpoint_of(const TopicPartition& id) const {
  std::lock_guard guard(state_->checkpoints_mutex);
  auto found = state_->checkpoints.find(id.directory_name());
  if (found == state_->checkpoints.end()) return std::nullopt;
  return found->second;
}

Status LogDir::write_checkpoints(const std::vector<PartitionCheckpoint>& all) {
  std::lock_guard guard(state_->checkpoints_mutex);
  auto before = std::exchange(state_->checkpoints, {});
  for (const PartitionCheckpoint& checkpoint : all) {
    std::string name = checkpoint.id.directory_name();
    PartitionCheckpoint& line = state_->checkpoints[name] = checkpoint;
    // The line was made before a client was told of a later start.
    auto old = before.find(name);
    bool same = old != before.end() && old->second.topic_id == line.topic_id;
    if (same) line.log_start_offset = std::max(line.log_start_offset, old->second.log_start_offset);
  }
  // Of a partition that was made after the lines: a client knows this start, and the next lines have it.
  for (const std::string& name : std::exchange(state_->noted, {})) {
    if (auto line = before.extract(name)) state_->checkpoints.insert(std::move(line));
  }
  state_->find_log_starts();
  return state_->save_checkpoints();
}

void LogDir::note_log_start(const PartitionCheckpoint& line) {
  std::lock_guard guard(state_->checkpoints_mutex);
  std::string name = line.id.directory_name();
  auto [found, added] = state_->checkpoints.try_emplace(name, line);
  state_->noted.insert(std::move(name));
  PartitionCheckpoint& known = found->second;
  if (!added && known.topic_id != line.topic_id) known = line;
  known.log_start_offset = std::max(known.log_start_offset, line.log_start_offset);
  state_->find_log_starts();
}

LogDir::LogStarts LogDir::log_starts() const {
  std::lock_guard guard(state_->checkpoints_mutex);
  return state_->starts;
}

Result<bool> LogDir::place_log_starts(const std::string& file, uint64_t version) {
  std::lock_guard guard(state_->checkpoints_mutex);
  if (state_->starts.version != version) return false;
  Status renamed = state_->files.rename(file, state_->path(kLogStartOffsetCheckpoint));
  if (!renamed) return std::unexpected(renamed.error());
  state_->starts_in_file = version;
  return true;
}

std::vector<TopicPartition> LogDir::in_checkpoints() const {
  std::lock_guard guard(state_->checkpoints_mutex);
  std::vector<TopicPartition> ids;
  for (const auto& [name, checkpoint] : state_->checkpoints) ids.push_back(checkpoint.id);
  return ids;
}

Status LogDir::forget(const std::vector<TopicPartition>& deleted) {
  std::lock_guard guard(state_->checkpoints_mutex);
  std::vector<decltype(state_->checkpoints)::node_type> lines;
  for (const TopicPartition& id : deleted) {
    if (auto line = state_->checkpoints.extract(id.directory_name())) lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  state_->unsettled = true;
  state_->find_log_starts();
  Status saved = state_->save_checkpoints();
  if (saved) return saved;
  // They are on disk as before: whoever makes such a partition again has to know.
  for (auto& line : lines) state_->checkpoints.insert(std::move(line));
  state_->find_log_starts();
  return saved;
}

Status LogDir::mark_clean_shutdown() {
  {
    std::lock_guard guard(state_->checkpoints_mutex);
    if (Status saved = state_->save_log_starts(); !saved) return saved;
  }
  // One sync for the indexes, snapshots and checkpoints of all partitions; the marker vouches for them.
  if (Status synced = state_->files.sync_file_system(state_->directory); !synced) return synced;
  return write_file_atomically(state_->files, state_->path(kCleanShutdownMarker),
                               format_clean_shutdown(kNoBrokerEpoch));
}

}  // namespace pelton::storage
