#include "storage/log_dir.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "storage/checkpoint.h"
#include "storage/log_deletion.h"
#include "storage/log_dir_names.h"
#include "storage/log_parts.h"
#include "storage/meta_properties.h"
#include "storage/open_file.h"
#include "storage/recovery.h"

namespace pelton::storage {
namespace {

constexpr const char* kLockFile = ".lock";
constexpr int64_t kNoBrokerEpoch = -1;

using Failure = std::unexpected<std::string>;

std::string sentence(const std::string& path, SysError error) {
  return fmt::format("{}: {}", path, to_string(error));
}

// A version 4 id, not one whose text begins with '-' (Kafka's tools take that for an option).
Uuid random_uuid(Io& io) {
  Uuid id;
  do {
    for (size_t half = 0; half < 2; ++half) {
      uint64_t bits = io.random();
      std::memcpy(id.bytes.data() + half * sizeof bits, &bits, sizeof bits);
    }
    id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
    id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  } while (id.to_string().starts_with('-'));
  return id;
}

// The directory and what is missing of its parents.
Status make_directories(FileSystem& files, const std::string& path) {
  if (path.empty() || files.exists(path)) return {};
  size_t slash = path.find_last_not_of('/');
  slash = path.rfind('/', slash);
  if (slash != std::string::npos && slash > 0) {
    if (Status made = make_directories(files, path.substr(0, slash)); !made) return made;
  }
  return files.make_directory(path);
}

Status remove_tree(FileSystem& files, const std::string& path) {
  Result<std::vector<DirectoryEntry>> entries = files.list(path);
  if (!entries) return std::unexpected(entries.error());
  for (const DirectoryEntry& entry : *entries) {
    std::string inner = path + "/" + entry.name;
    Status removed = entry.is_directory ? remove_tree(files, inner) : files.unlink(inner);
    if (!removed) return removed;
  }
  return files.remove_directory(path);
}

}  // namespace

struct LogDir::State {
  State(Io& io_, const LogDirOptions& options_) : io(io_), files(io_.files()), options(options_) {}
  ~State() {
    if (lock >= 0) files.close(lock);
  }

  std::string path(std::string_view name) const { return options.path + "/" + std::string(name); }

  Result<void, std::string> open();
  Result<void, std::string> take_lock();
  Result<void, std::string> scan();
  Result<void, std::string> load_properties();
  Result<void, std::string> format();
  Result<void, std::string> take_marker();
  void read_checkpoints();
  template <class Set>
  void read_checkpoint(const char* name, Set set);
  Status save_checkpoints();
  Status clear_unfinished(const std::string& directory);

  Io& io;
  FileSystem& files;
  LogDirOptions options;
  MetaProperties properties;
  FileFd lock = -1;
  bool clean = false;
  std::vector<FoundPartition> partitions;

  // Shards load their logs at the same time; the checkpoints are read and written rarely.
  std::mutex checkpoints_mutex;
  std::unordered_map<std::string, PartitionCheckpoint> checkpoints;  // by directory name
};

Result<void, std::string> LogDir::State::open() {
  if (Status made = make_directories(files, options.path); !made) {
    return Failure(sentence(options.path, made.error()));
  }
  if (auto locked = take_lock(); !locked) return locked;
  if (auto scanned = scan(); !scanned) return scanned;
  if (auto loaded = load_properties(); !loaded) return loaded;
  read_checkpoints();
  return take_marker();
}

Result<void, std::string> LogDir::State::take_lock() {
  Result<FileFd> fd = files.lock(path(kLockFile));
  if (fd) {
    lock = *fd;
    return {};
  }
  if (fd.error().code == EWOULDBLOCK) {
    return Failure(fmt::format("{}: another process uses this directory (it holds {}); stop it, or "
                               "choose another log.dirs",
                               options.path, kLockFile));
  }
  return Failure(sentence(path(kLockFile), fd.error()));
}

Result<void, std::string> LogDir::State::scan() {
  Result<std::vector<DirectoryEntry>> entries = files.list(options.path);
  if (!entries) return Failure(sentence(options.path, entries.error()));
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.is_directory) continue;
    if (is_deleted_directory(entry.name)) {
      Status removed = remove_tree(files, path(entry.name));
      if (!removed) return Failure(sentence(path(entry.name), removed.error()));
      continue;
    }
    std::optional<TopicPartition> id = parse_partition_directory(entry.name);
    if (!id) continue;
    FoundPartition found{std::move(*id), {}};
    std::string metadata = path(entry.name) + "/" + kPartitionMetadata;
    Result<std::string> text = read_file(files, metadata, kMaxSmallFileBytes);
    if (text) found.topic_id = parse_partition_metadata(*text).value_or(Uuid{});
    partitions.push_back(std::move(found));
  }
  return {};
}

Result<void, std::string> LogDir::State::load_properties() {
  std::string file = path(kMetaPropertiesFile);
  Result<std::string> text = read_file(files, file, kMaxSmallFileBytes);
  if (!text) {
    if (text.error().code != ENOENT) return Failure(sentence(file, text.error()));
    return format();
  }
  Result<MetaProperties, std::string> parsed = parse_meta_properties(*text);
  if (!parsed) return Failure(fmt::format("{}: {}", file, parsed.error()));
  properties = *parsed;
  if (properties.node_id != options.node_id) {
    return Failure(fmt::format("{}: the directory belongs to node.id {}, this broker is node.id {}; set "
                               "node.id to {} or choose another log.dirs",
                               file, properties.node_id, options.node_id, properties.node_id));
  }
  if (!options.cluster_id.empty() && properties.cluster_id != options.cluster_id) {
    return Failure(fmt::format("{}: the directory belongs to cluster {}, not to {}; leave the cluster id "
                               "out or choose another log.dirs",
                               file, properties.cluster_id, options.cluster_id));
  }
  if (!properties.directory_id.is_zero()) return {};
  properties.directory_id = random_uuid(io);
  Status wrote = write_file_atomically(files, file, format_meta_properties(properties));
  if (!wrote) return Failure(sentence(file, wrote.error()));
  return {};
}

Result<void, std::string> LogDir::State::format() {
  std::string file = path(kMetaPropertiesFile);
  if (!partitions.empty()) {
    return Failure(fmt::format("{}: {} is missing, but the directory holds partitions such as {}; restore "
                               "the file or choose an empty directory",
                               options.path, kMetaPropertiesFile,
                               partitions.front().id.directory_name()));
  }
  properties.node_id = options.node_id;
  properties.cluster_id =
      options.cluster_id.empty() ? random_uuid(io).to_string() : options.cluster_id;
  properties.directory_id = random_uuid(io);
  Status wrote = write_file_atomically(files, file, format_meta_properties(properties));
  if (!wrote) return Failure(sentence(file, wrote.error()));
  // Nothing to recover.
  clean = true;
  return {};
}

Result<void, std::string> LogDir::State::take_marker() {
  std::string marker = path(kCleanShutdownMarker);
  if (!files.exists(marker)) return {};
  Status removed = files.unlink(marker);
  if (removed) removed = files.sync_directory(options.path);
  if (!removed) return Failure(sentence(marker, removed.error()));
  clean = true;
  return {};
}

template <class Set>
void LogDir::State::read_checkpoint(const char* name, Set set) {
  Result<std::string> text = read_file(files, path(name), kMaxCheckpointBytes);
  if (!text) return;
  auto entries = parse_offset_checkpoint(*text);
  if (!entries) return;
  for (OffsetCheckpointEntry& entry : *entries) {
    TopicPartition id{std::move(entry.topic), entry.partition};
    PartitionCheckpoint& checkpoint = checkpoints[id.directory_name()];
    checkpoint.id = std::move(id);
    set(checkpoint, std::max<int64_t>(entry.offset, 0));
  }
}

// A checkpoint that is missing or damaged counts as 0 for its partitions: more is recovered than needed.
void LogDir::State::read_checkpoints() {
  read_checkpoint(kRecoveryPointCheckpoint, [](PartitionCheckpoint& checkpoint, int64_t offset) {
    checkpoint.recovery_point = offset;
  });
  read_checkpoint(kLogStartOffsetCheckpoint, [](PartitionCheckpoint& checkpoint, int64_t offset) {
    checkpoint.log_start_offset = offset;
  });
  read_checkpoint(kHighWatermarkCheckpoint, [](PartitionCheckpoint& checkpoint, int64_t offset) {
    checkpoint.high_watermark = offset;
  });
}

// The mutex is held. Log starts of 0 say nothing and are left out, as in Apache Kafka.
Status LogDir::State::save_checkpoints() {
  std::vector<OffsetCheckpointEntry> recovery, start, watermark;
  for (const auto& [name, checkpoint] : checkpoints) {
    const auto& [topic, partition] = checkpoint.id;
    recovery.push_back({topic, partition, checkpoint.recovery_point});
    if (checkpoint.log_start_offset > 0) {
      start.push_back({topic, partition, checkpoint.log_start_offset});
    }
    watermark.push_back({topic, partition, checkpoint.high_watermark});
  }
  auto save = [&](const char* name, const std::vector<OffsetCheckpointEntry>& entries) {
    return replace_file_unsynced(files, path(name), format_offset_checkpoint(entries));
  };
  if (Status saved = save(kRecoveryPointCheckpoint, recovery); !saved) return saved;
  if (Status saved = save(kLogStartOffsetCheckpoint, start); !saved) return saved;
  return save(kHighWatermarkCheckpoint, watermark);
}

// What a creation left that never ended: nothing in it was acknowledged. Records are not touched.
Status LogDir::State::clear_unfinished(const std::string& directory) {
  Result<std::vector<DirectoryEntry>> entries = files.list(directory);
  if (!entries) return std::unexpected(entries.error());
  for (const DirectoryEntry& entry : *entries) {
    std::string name = directory + "/" + entry.name;
    if (entry.is_directory) return sys_error(EEXIST);
    if (!entry.name.ends_with(kLogSuffix)) continue;
    Result<OpenFile> file = OpenFile::open(files, name, OpenMode::kRead);
    if (!file) return std::unexpected(file.error());
    Result<uint64_t> size = files.size(file->fd());
    if (!size) return std::unexpected(size.error());
    if (*size > 0) return sys_error(EEXIST);
  }
  for (const DirectoryEntry& entry : *entries) {
    if (Status removed = files.unlink(directory + "/" + entry.name); !removed) return removed;
  }
  return {};
}

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

Result<std::unique_ptr<Log>> LogDir::create_log(ShardStorage& storage, LogObserver& observer,
                                                const TopicPartition& id, Uuid topic_id,
                                                const LogConfig& config) {
  FileSystem& files = storage.descriptors->files();
  std::string name = id.directory_name();
  std::string directory = state_->path(name);
  if (files.exists(directory)) {
    if (Status cleared = state_->clear_unfinished(directory); !cleared) {
      return std::unexpected(cleared.error());
    }
  }
  if (Status made = files.make_directory(directory); !made) return std::unexpected(made.error());
  std::string metadata = directory + "/" + kPartitionMetadata;
  Status wrote = replace_file_unsynced(files, metadata, format_partition_metadata(topic_id));
  if (!wrote) return std::unexpected(wrote.error());
  {
    // An earlier partition of that name may have left its offsets.
    std::lock_guard guard(state_->checkpoints_mutex);
    if (state_->checkpoints.erase(name) > 0) {
      if (Status saved = state_->save_checkpoints(); !saved) return std::unexpected(saved.error());
    }
  }
  auto parts =
      std::make_unique<Log::Parts>(storage, observer, state_->options.path, name, topic_id, config);
  Result<DirectorySync*> sync = storage.syncs->directory(state_->options.path);
  if (!sync) return std::unexpected(sync.error());
  parts->directory_sync = *sync;
  // Makes the first segment and brings the directory's names to disk.
  if (auto loaded = load_log_parts(*parts, {.clean = true}); !loaded) return sys_error(EIO);
  Result<OpenFile> file = OpenFile::open(files, metadata, OpenMode::kReadWrite);
  if (!file) return std::unexpected(file.error());
  if (Status synced = files.sync(file->fd()); !synced) return std::unexpected(synced.error());
  if (Status synced = files.sync_directory(state_->options.path); !synced) {
    return std::unexpected(synced.error());
  }
  return std::make_unique<Log>(std::move(parts));
}

Result<std::unique_ptr<Log>, std::string> LogDir::load_log(ShardStorage& storage,
                                                           LogObserver& observer,
                                                           const TopicPartition& id,
                                                           const LogConfig& config) {
  std::string name = id.directory_name();
  auto found = std::find_if(state_->partitions.begin(), state_->partitions.end(),
                            [&](const FoundPartition& partition) { return partition.id == id; });
  Uuid topic_id = found == state_->partitions.end() ? Uuid{} : found->topic_id;
  auto parts =
      std::make_unique<Log::Parts>(storage, observer, state_->options.path, name, topic_id, config);
  Result<DirectorySync*> sync = storage.syncs->directory(state_->options.path);
  if (!sync) return Failure(sentence(state_->options.path, sync.error()));
  parts->directory_sync = *sync;
  PartitionCheckpoint checkpoint = checkpoint_of(id).value_or(PartitionCheckpoint{});
  LoadOptions load{state_->clean, checkpoint.recovery_point, checkpoint.log_start_offset};
  if (auto loaded = load_log_parts(*parts, load); !loaded) return Failure(loaded.error());
  return std::make_unique<Log>(std::move(parts));
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
  return state_->files.sync_directory(state_->options.path);
}

std::optional<PartitionCheckpoint> LogDir::checkpoint_of(const TopicPartition& id) const {
  std::lock_guard guard(state_->checkpoints_mutex);
  auto found = state_->checkpoints.find(id.directory_name());
  if (found == state_->checkpoints.end()) return std::nullopt;
  return found->second;
}

Status LogDir::write_checkpoints(const std::vector<PartitionCheckpoint>& all) {
  std::lock_guard guard(state_->checkpoints_mutex);
  state_->checkpoints.clear();
  for (const PartitionCheckpoint& checkpoint : all) {
    state_->checkpoints[checkpoint.id.directory_name()] = checkpoint;
  }
  return state_->save_checkpoints();
}

Status LogDir::mark_clean_shutdown() {
  // One sync for the indexes, snapshots and checkpoints of all partitions; the marker vouches for them.
  if (Status synced = state_->files.sync_file_system(state_->options.path); !synced) return synced;
  return write_file_atomically(state_->files, state_->path(kCleanShutdownMarker),
                               format_clean_shutdown(kNoBrokerEpoch));
}

}  // namespace pelton::storage
