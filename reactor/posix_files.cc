#include "reactor/posix_files.h"

#include <algorithm>
#include <climits>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "reactor/base/check.h"

namespace pelton {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;
constexpr int kMaxPieces = IOV_MAX;

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead: return O_RDONLY;
    case OpenMode::kReadWrite: return O_RDWR;
    case OpenMode::kCreate: return O_RDWR | O_CREAT;
    case OpenMode::kCreateNew: return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::kDirectory: return O_RDONLY | O_DIRECTORY;
  }
  return O_RDONLY;
}

Status status_of(int result) {
  if (result == 0) return {};
  return last_sys_error();
}

// Calls again after EINTR.
template <class Call>
auto retrying(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

size_t total_bytes(const iovec* pieces, int count) {
  size_t total = 0;
  for (int i = 0; i < count; ++i) total += pieces[i].iov_len;
  return total;
}

// What is left of `pieces` after `done` bytes: only after a short write, so the copy is rare.
std::vector<iovec> rest_of(const iovec* pieces, int count, size_t done) {
  std::vector<iovec> rest;
  for (int i = 0; i < count; ++i) {
    size_t skip = std::min(done, pieces[i].iov_len);
    done -= skip;
    if (skip == pieces[i].iov_len) continue;
    rest.push_back({static_cast<uint8_t*>(pieces[i].iov_base) + skip, pieces[i].iov_len - skip});
  }
  return rest;
}

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_directory(DIR* directory, const dirent* entry) {
  if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) return entry->d_type == DT_DIR;
  struct stat info;
  return ::fstatat(::dirfd(directory), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<FileFd> PosixFiles::open(const std::string& path, OpenMode mode) {
  int fd = retrying([&] { return ::open(path.c_str(), open_flags(mode) | O_CLOEXEC, kFileMode); });
  if (fd < 0) return last_sys_error();
  return fd;
}

void PosixFiles::close(FileFd fd) {
  // EINTR: Linux has released the descriptor all the same.
  if (::close(fd) != 0) CHECK(errno != EBADF, "closed a descriptor that is not open");
}

Result<size_t> PosixFiles::pread(FileFd fd, MutableBytes into, uint64_t position) {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t got = retrying([&] {
      return ::pread(fd, into.data() + done, into.size() - done,
                     static_cast<off_t>(position + done));
    });
    if (got < 0) return last_sys_error();
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status PosixFiles::pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) {
  size_t left = total_bytes(pieces, count);
  std::vector<iovec> rest;
  while (left > 0) {
    ssize_t wrote = retrying([&] {
      return ::pwritev(fd, pieces, std::min(count, kMaxPieces), static_cast<off_t>(position));
    });
    if (wrote < 0) return last_sys_error();
    if (wrote == 0) return sys_error(EIO);
    left -= static_cast<size_t>(wrote);
    position += static_cast<uint64_t>(wrote);
    if (left == 0) break;
    rest = rest_of(pieces, count, static_cast<size_t>(wrote));
    pieces = rest.data();
    count = static_cast<int>(rest.size());
  }
  return {};
}

Result<uint64_t> PosixFiles::size(FileFd fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return last_sys_error();
  return static_cast<uint64_t>(info.st_size);
}

Status PosixFiles::truncate(FileFd fd, uint64_t size) {
  return status_of(retrying([&] { return ::ftruncate(fd, static_cast<off_t>(size)); }));
}

Status PosixFiles::reserve(FileFd fd, uint64_t position, uint64_t length) {
  int result = retrying([&] {
    return ::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(position),
                       static_cast<off_t>(length));
  });
  if (result != 0 && errno == EOPNOTSUPP) return {};
  return status_of(result);
}

// EINTR is returned as it is by fdatasync only on exotic file systems; a failed sync is never retried
// because the kernel may have dropped the dirty pages with the first report.
Status PosixFiles::sync(FileFd fd) { return status_of(::fdatasync(fd)); }

void PosixFiles::start_writeback(FileFd fd, uint64_t position, uint64_t length) {
  // A hint: its errors come back from the sync that follows.
  (void)::sync_file_range(fd, static_cast<off_t>(position), static_cast<off_t>(length),
                          SYNC_FILE_RANGE_WRITE);
}

Status PosixFiles::rename(const std::string& from, const std::string& to) {
  return status_of(::rename(from.c_str(), to.c_str()));
}

Status PosixFiles::unlink(const std::string& path) { return status_of(::unlink(path.c_str())); }

Status PosixFiles::make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST) return {};
  return last_sys_error();
}

Status PosixFiles::remove_directory(const std::string& path) {
  return status_of(::rmdir(path.c_str()));
}

Status PosixFiles::sync_directory(const std::string& path) {
  Result<FileFd> fd = open(path, OpenMode::kDirectory);
  if (!fd) return std::unexpected(fd.error());
  Status synced = status_of(::fsync(*fd));
  close(*fd);
  return synced;
}

Status PosixFiles::sync_file_system(FileFd directory) { return status_of(::syncfs(directory)); }

bool PosixFiles::exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Result<std::vector<DirectoryEntry>> PosixFiles::list(const std::string& path) {
  std::unique_ptr<DIR, DirectoryCloser> directory(::opendir(path.c_str()));
  if (!directory) return last_sys_error();
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::move(name), is_directory(directory.get(), entry)});
  }
  if (errno != 0) return last_sys_error();
  // In name order, so that a start on the same directory does the same on every file system.
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Result<int64_t> PosixFiles::modified_ms(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return last_sys_error();
  return int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

Result<FileSystemSpace> PosixFiles::space(const std::string& path) {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0) return last_sys_error();
  return FileSystemSpace{uint64_t{info.f_blocks} * info.f_frsize, uint64_t{info.f_bavail} * info.f_frsize};
}

Result<FileFd> PosixFiles::lock(const std::string& path) {
  Result<FileFd> fd = open(path, OpenMode::kCreate);
  if (!fd) return fd;
  if (::flock(*fd, LOCK_EX | LOCK_NB) == 0) return fd;
  int error = errno;
  close(*fd);
  return sys_error(error);
}

}  // namespace pelton
