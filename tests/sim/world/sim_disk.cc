#include "tests/sim/world/sim_disk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reactor/base/check.h"

namespace pelton::sim {
namespace {

// What the start-up's and shutdown's own syncs take.
constexpr uint64_t kBlockingSyncNs = 50 * kMicro;

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

}  // namespace

SimDisk::SimDisk(World& world) : world_(world), root_(std::make_shared<SimFile>(0, true)) {}

bool SimDisk::powered() {
  if (!changes_left_) return true;
  if (*changes_left_ == 0) return false;
  --*changes_left_;
  return true;
}

SimDisk::FilePtr SimDisk::make_file(bool is_directory) {
  auto file = std::make_shared<SimFile>(next_file_++, is_directory);
  file->modified_ms = world_.wall_ms();
  return file;
}

Result<SimDisk::Place> SimDisk::find(const std::string& path) const {
  std::vector<std::string> parts = parts_of(path);
  Place place{root_, "", root_};
  for (const std::string& part : parts) {
    if (place.file == nullptr) return sys_error(ENOENT);
    if (!place.file->is_directory()) return sys_error(ENOTDIR);
    place.directory = place.file;
    place.name = part;
    auto found = place.directory->entries.find(part);
    place.file = found == place.directory->entries.end() ? nullptr : found->second;
  }
  return place;
}

// ---------------------------------------------------------------- descriptors

FileFd SimDisk::open_file(const FilePtr& file) {
  FileFd fd = next_fd_++;
  uint64_t known = file->error_told ? file->errors : file->errors - 1;
  open_[fd] = {file, std::make_shared<Told>(Told{known, errors_})};
  return fd;
}

std::shared_ptr<SimFile> SimDisk::file(FileFd fd) {
  auto found = open_.find(fd);
  CHECK(found != open_.end(), "a descriptor that is not open");
  return found->second.file;
}

Result<FileFd> SimDisk::open(const std::string& path, OpenMode mode) {
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  bool creates = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
  if (place->file != nullptr) {
    if (mode == OpenMode::kCreateNew) return sys_error(EEXIST);
    bool wants_directory = mode == OpenMode::kDirectory;
    if (place->file->is_directory() != wants_directory)
      return sys_error(wants_directory ? ENOTDIR : EISDIR);
    return open_file(place->file);
  }
  if (!creates) return sys_error(ENOENT);
  if (!powered()) return sys_error(EIO);
  FilePtr file = make_file(false);
  change(file, nullptr, "", place->directory, place->name);
  return open_file(file);
}

void SimDisk::close(FileFd fd) {
  FilePtr closed = file(fd);
  auto lock = locks_.find(closed->id());
  if (lock != locks_.end() && lock->second == fd) locks_.erase(lock);
  open_.erase(fd);
}

Result<FileFd> SimDisk::lock(const std::string& path) {
  Result<FileFd> fd = open(path, OpenMode::kCreate);
  if (!fd) return fd;
  if (locks_.emplace(file(*fd)->id(), *fd).second) return fd;
  close(*fd);
  return sys_error(EWOULDBLOCK);
}

// ---------------------------------------------------------------- bytes

Result<size_t> SimDisk::pread(FileFd fd, MutableBytes into, uint64_t position) {
  return file(fd)->read(into, position);
}

Status SimDisk::pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) {
  if (!powered()) return sys_error(EIO);
  FilePtr to = file(fd);
  uint64_t at = position;
  for (int i = 0; i < count; ++i) {
    to->write({static_cast<const uint8_t*>(pieces[i].iov_base), pieces[i].iov_len}, at);
    at += pieces[i].iov_len;
  }
  to->modified_ms = world_.wall_ms();
  world_.trace("write", to->id(), position, at - position);
  return {};
}

Result<uint64_t> SimDisk::size(FileFd fd) { return file(fd)->size(); }

Status SimDisk::truncate(FileFd fd, uint64_t size) {
  if (!powered()) return sys_error(EIO);
  file(fd)->truncate(size);
  world_.trace("truncate", file(fd)->id(), size);
  return {};
}

Status SimDisk::reserve(FileFd fd, uint64_t, uint64_t) {
  (void)file(fd);
  return {};
}

void SimDisk::start_writeback(FileFd fd, uint64_t, uint64_t) { (void)file(fd); }

// ---------------------------------------------------------------- directories

void SimDisk::change(FilePtr file, FilePtr from, std::string from_name, FilePtr to,
                     std::string to_name) {
  if (from != nullptr) from->entries.erase(from_name);
  if (to != nullptr) to->entries[to_name] = file;
  changes_.push_back({next_change_++, std::move(file), std::move(from), std::move(from_name),
                      std::move(to), std::move(to_name)});
}

Status SimDisk::rename(const std::string& from, const std::string& to) {
  if (!powered()) return sys_error(EIO);
  Result<Place> source = find(from);
  if (!source) return std::unexpected(source.error());
  if (source->file == nullptr) return sys_error(ENOENT);
  Result<Place> target = find(to);
  if (!target) return std::unexpected(target.error());
  if (target->file != nullptr && target->file->is_directory() && !target->file->entries.empty())
    return sys_error(ENOTEMPTY);
  change(source->file, source->directory, source->name, target->directory, target->name);
  world_.trace("rename", source->file->id());
  return {};
}

Status SimDisk::unlink(const std::string& path) {
  if (!powered()) return sys_error(EIO);
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file == nullptr) return sys_error(ENOENT);
  if (place->file->is_directory()) return sys_error(EISDIR);
  change(place->file, place->directory, place->name, nullptr, "");
  world_.trace("unlink", place->file->id());
  return {};
}

Status SimDisk::make_directory(const std::string& path) {
  if (!powered()) return sys_error(EIO);
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file != nullptr) return {};
  change(make_file(true), nullptr, "", place->directory, place->name);
  return {};
}

Status SimDisk::remove_directory(const std::string& path) {
  if (!powered()) return sys_error(EIO);
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file == nullptr) return sys_error(ENOENT);
  if (!place->file->is_directory()) return sys_error(ENOTDIR);
  if (!place->file->entries.empty()) return sys_error(ENOTEMPTY);
  change(place->file, place->directory, place->name, nullptr, "");
  return {};
}

bool SimDisk::exists(const std::string& path) {
  Result<Place> place = find(path);
  return place && place->file != nullptr;
}

Result<std::vector<DirectoryEntry>> SimDisk::list(const std::string& path) {
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file == nullptr) return sys_error(ENOENT);
  if (!place->file->is_directory()) return sys_error(ENOTDIR);
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, file] : place->file->entries)
    entries.push_back({name, file->is_directory()});
  return entries;
}

Result<int64_t> SimDisk::modified_ms(const std::string& path) {
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file == nullptr) return sys_error(ENOENT);
  return place->file->modified_ms;
}

Result<FileSystemSpace> SimDisk::space(const std::string& path) {
  if (!powered()) return sys_error(EIO);
  if (!exists(path)) return sys_error(ENOENT);
  return FileSystemSpace{uint64_t{1} << 40, uint64_t{1} << 39};
}

// ---------------------------------------------------------------- syncs

void SimDisk::apply(const Change& change) {
  if (change.from != nullptr) {
    auto& entries = change.from->durable_entries;
    auto found = entries.find(change.from_name);
    if (found != entries.end() && found->second == change.file) entries.erase(found);
  }
  if (change.to != nullptr) change.to->durable_entries[change.to_name] = change.file;
}

template <class Which>
void SimDisk::make_durable(Which&& which) {
  std::erase_if(changes_, [&](const Change& change) {
    if (!which(change)) return false;
    apply(change);
    return true;
  });
}

SimDisk::Sync SimDisk::begin_sync(FileFd fd) {
  Sync sync;
  FilePtr synced = file(fd);
  sync.told = open_.at(fd).told;
  sync.of = synced;
  sync.files.emplace_back(synced, synced->begin_sync());
  return sync;
}

SimDisk::Sync SimDisk::begin_file_system_sync(FileFd directory) {
  Sync sync;
  sync.told = open_.at(directory).told;
  std::vector<FilePtr> files;
  collect(root_, false, files);
  for (const auto& [fd, open] : open_) files.push_back(open.file);
  std::set<uint64_t> seen;
  for (const FilePtr& file : files)
    if (file->dirty() && seen.insert(file->id()).second)
      sync.files.emplace_back(file, file->begin_sync());
  sync.changes_before = next_change_;
  return sync;
}

void SimDisk::finish_sync(const Sync& sync) {
  for (const auto& [file, promise] : sync.files) file->finish_sync(promise);
  make_durable([&](const Change& change) { return change.number < sync.changes_before; });
}

bool SimDisk::tells_error(const Sync& sync) {
  bool news = sync.of != nullptr ? sync.told->of_file < sync.of->errors : sync.told->of_disk < errors_;
  if (sync.of == nullptr) {
    sync.told->of_disk = errors_;
    return news;
  }
  sync.told->of_file = sync.of->errors;
  sync.of->error_told = true;
  return news;
}

void SimDisk::fail_sync(const Sync& sync) {
  ++failed_syncs_;
  ++errors_;
  for (const auto& [file, promise] : sync.files) {
    file->drop_sync(promise);
    ++file->errors;
    file->error_told = false;
  }
  (void)tells_error(sync);
}

Status SimDisk::sync(FileFd fd) {
  if (!powered()) return sys_error(EIO);
  world_.spend(kBlockingSyncNs);
  world_.trace("sync", file(fd)->id());
  Sync sync = begin_sync(fd);
  finish_sync(sync);
  return tells_error(sync) ? Status(sys_error(EIO)) : Status();
}

Status SimDisk::sync_directory(const std::string& path) {
  if (!powered()) return sys_error(EIO);
  Result<Place> place = find(path);
  if (!place) return std::unexpected(place.error());
  if (place->file == nullptr) return sys_error(ENOENT);
  world_.spend(kBlockingSyncNs);
  world_.trace("sync directory", place->file->id());
  const FilePtr& directory = place->file;
  make_durable(
      [&](const Change& change) { return change.from == directory || change.to == directory; });
  return {};
}

Status SimDisk::sync_file_system(FileFd directory) {
  if (!powered()) return sys_error(EIO);
  CHECK(file(directory)->is_directory());
  world_.spend(kBlockingSyncNs);
  world_.trace("sync file system");
  Sync sync = begin_file_system_sync(directory);
  finish_sync(sync);
  return tells_error(sync) ? Status(sys_error(EIO)) : Status();
}

// ---------------------------------------------------------------- crash

void SimDisk::collect(const FilePtr& file, bool durable, std::vector<FilePtr>& out) {
  out.push_back(file);
  for (const auto& [name, inner] : durable ? file->durable_entries : file->entries)
    collect(inner, durable, out);
}

void SimDisk::lose_changes() {
  bool journal = world_.chance(0.5);
  size_t kept = world_.below(changes_.size() + 1);
  for (size_t i = 0; i < changes_.size(); ++i) {
    bool survives = journal ? i < kept : world_.chance(0.5);
    if (survives) apply(changes_[i]);
  }
  changes_.clear();
}

void SimDisk::crash(CrashKind kind) {
  open_.clear();
  locks_.clear();
  changes_left_.reset();
  failed_syncs_ = 0;
  world_.trace(kind == CrashKind::kPowerLoss ? "power loss" : "process kill");
  if (kind == CrashKind::kProcessKill) return;
  lose_changes();
  std::vector<FilePtr> files;
  collect(root_, true, files);
  std::set<uint64_t> seen;  // a file may have two names when half a rename survived
  for (const FilePtr& file : files) {
    if (!seen.insert(file->id()).second) continue;
    if (file->is_directory()) {
      file->entries = file->durable_entries;
    } else {
      file->lose_power(world_);
      file->error_told = true;
    }
  }
}

}  // namespace pelton::sim
