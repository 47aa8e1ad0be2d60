// LogDir::State: opening and formatting a data directory, its checkpoints.
#include <algorithm>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

#include "storage/checkpoint.h"
#include "storage/log_dir_names.h"
#include "storage/log_dir_state.h"
#include "storage/open_file.h"
#include "storage/segment.h"

namespace pelton::storage {
namespace {

constexpr const char* kLockFile = ".lock";

using Failure = std::unexpected<std::string>;

std::string sentence(const std::string& path, SysError error) {
  return fmt::format("{}: {}", path, to_string(error));
}

// The directory and what is missing of its parents. Notes where names were added; formatting syncs them.
Status make_directories(FileSystem& files, const std::string& path, std::vector<std::string>& extended) {
  if (path.empty() || files.exists(path)) return {};
  size_t slash = path.find_last_not_of('/');
  slash = path.rfind('/', slash);
  std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (Status made = make_directories(files, parent, extended); !made) return made;
  extended.push_back(std::move(parent));
  return files.make_directory(path);
}

// What a power loss may leave of a file that was renamed before its bytes were on the disk.
bool never_written(std::string_view text) {
  return text.empty() || text.find('\0') != std::string_view::npos;
}

}  // namespace

std::string mark_name(Uuid topic_id, int32_t partition) {
  return topic_id.to_string() + "-" + std::to_string(partition);
}

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

Result<void, std::string> LogDir::State::open() {
  if (Status made = make_directories(files, options.path, extended); !made) {
    return Failure(sentence(options.path, made.error()));
  }
  if (auto locked = take_lock(); !locked) return locked;
  if (auto opened = open_directory(); !opened) return opened;
  if (auto scanned = scan(); !scanned) return scanned;
  if (auto loaded = load_properties(); !loaded) return loaded;
  read_checkpoints();
  read_marks();
  if (auto taken = take_marker(); !taken) return taken;
  if (sync_failed) clean = false;
  unsettled = !clean;
  return {};
}

Result<void, std::string> LogDir::State::open_directory() {
  Result<FileFd> fd = files.open(options.path, OpenMode::kDirectory);
  if (!fd) return Failure(sentence(options.path, fd.error()));
  directory = *fd;
  return {};
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
      leftovers.push_back(path(entry.name));
      continue;
    }
    std::optional<TopicPartition> id = parse_partition_directory(entry.name);
    if (!id) continue;
    FoundPartition found{std::move(*id), {}};
    std::string metadata = path(entry.name) + "/" + kPartitionMetadata;
    Result<std::string> text = read_file(files, metadata, kMaxSmallFileBytes);
    if (text) found.topic_id = parse_partition_metadata(*text).value_or(Uuid{});
    topic_ids[entry.name] = found.topic_id;
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
  // Formatting ends with a sync before anything else is made here: nobody was told of this cluster.
  if (never_written(*text) && partitions.empty()) return format();
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
  Status wrote = write_first_properties(file);
  if (!wrote) {
    (void)files.unlink(file);  // what a sync that failed left looks whole
    return Failure(sentence(file, wrote.error()));
  }
  // Nothing to recover.
  clean = true;
  return {};
}

// Renamed before the first sync: a journal then has everything in one commit, and the other syncs find nothing
// left to do. Not a sync of the file system, which may hold much of others.
Status LogDir::State::write_first_properties(const std::string& path) {
  if (Status wrote = replace_file_unsynced(files, path, format_meta_properties(properties)); !wrote) return wrote;
  Result<OpenFile> file = OpenFile::open(files, path, OpenMode::kReadWrite);
  if (!file) return std::unexpected(file.error());
  if (Status synced = files.sync(file->fd()); !synced) return synced;
  if (Status synced = files.sync_directory(options.path); !synced) return synced;
  for (const std::string& parent : extended) {
    if (Status synced = files.sync_directory(parent); !synced) return synced;
  }
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
  find_log_starts();
  starts.version = 0;
}

void LogDir::State::read_marks() {
  Result<std::vector<DirectoryEntry>> entries = files.list(options.path);
  if (!entries) return;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.is_directory || !entry.name.starts_with(kDurableMarks)) continue;
    std::string_view digits = std::string_view(entry.name).substr(std::strlen(kDurableMarks));
    if (auto number = parse_number<int32_t>(digits); number && *number >= 0 && *number < INT32_MAX) {
      next_marks = std::max(next_marks.load(), *number + 1);
    }
    old_marks.push_back(path(entry.name));
    for (const DurableMark& mark : DurableMarks::read(files, old_marks.back())) {
      if (mark.tells_failed_sync()) {
        sync_failed = true;
        continue;
      }
      int64_t& offset = durable_offsets[mark_name(mark.topic_id, mark.partition)];
      offset = std::max(offset, mark.offset);
    }
  }
}

void LogDir::State::open_marks(DirectorySync& sync) {
  if (sync.marks) return;
  auto marks = DurableMarks::create(files, path(kDurableMarks + std::to_string(next_marks++)));
  if (marks) sync.marks = std::move(*marks);
}

void LogDir::State::note_failed_sync() {
  auto marks = DurableMarks::create(files, path(kDurableMarks + std::to_string(next_marks++)));
  if (marks) (*marks)->note_failed_sync();
}

// The mutex is held, in these three.
Status LogDir::State::save_checkpoints() {
  std::vector<OffsetCheckpointEntry> recovery, watermark;
  for (const auto& [name, checkpoint] : checkpoints) {
    const auto& [topic, partition] = checkpoint.id;
    recovery.push_back({topic, partition, checkpoint.recovery_point});
    watermark.push_back({topic, partition, checkpoint.high_watermark});
  }
  auto save = [&](const char* name, const std::vector<OffsetCheckpointEntry>& entries) {
    return replace_file_unsynced(files, path(name), format_offset_checkpoint(entries));
  };
  if (Status saved = save(kRecoveryPointCheckpoint, recovery); !saved) return saved;
  return save(kHighWatermarkCheckpoint, watermark);
}

// Log starts of 0 say nothing and are left out, as in Apache Kafka.
void LogDir::State::find_log_starts() {
  std::vector<OffsetCheckpointEntry> entries;
  for (const auto& [name, checkpoint] : checkpoints) {
    if (checkpoint.log_start_offset <= 0) continue;
    entries.push_back({checkpoint.id.topic, checkpoint.id.partition, checkpoint.log_start_offset});
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.topic, a.partition) < std::tie(b.topic, b.partition);
  });
  std::string text = format_offset_checkpoint(entries);
  if (text == starts.text) return;
  starts.text = std::move(text);
  ++starts.version;
}

// Blocking, durable: an older version that a shard is writing meanwhile is not put over it.
Status LogDir::State::save_log_starts() {
  find_log_starts();
  if (starts_in_file == starts.version) return {};
  Status saved = write_file_atomically(files, path(kLogStartOffsetCheckpoint), starts.text);
  if (saved) starts_in_file = starts.version;
  return saved;
}

void LogDir::State::take_out(const TopicPartition& id) {
  std::erase_if(partitions, [&](const FoundPartition& found) { return found.id == id; });
  topic_ids.erase(id.directory_name());
}

// What a creation left that never ended: nothing in it was acknowledged. Records are not touched.
Status LogDir::State::clear_unfinished(const std::string& partition) {
  Result<std::vector<DirectoryEntry>> entries = files.list(partition);
  if (!entries) return std::unexpected(entries.error());
  for (const DirectoryEntry& entry : *entries) {
    std::string name = partition + "/" + entry.name;
    if (entry.is_directory) return sys_error(EEXIST);
    if (!entry.name.ends_with(kLogSuffix)) continue;
    Result<OpenFile> file = OpenFile::open(files, name, OpenMode::kRead);
    if (!file) return std::unexpected(file.error());
    Result<uint64_t> size = files.size(file->fd());
    if (!size) return std::unexpected(size.error());
    if (*size > 0) return sys_error(EEXIST);
  }
  for (const DirectoryEntry& entry : *entries) {
    if (Status removed = files.unlink(partition + "/" + entry.name); !removed) return removed;
  }
  return {};
}

}  // namespace pelton::storage
