// FileSystem: the calls on files and directories that return at once or block for as long as the page
// cache allows. Anything that may wait for the device on a running shard (sync, cold reads, unlink of
// large files) is an operation of Io instead.
//
// Owner shard: none of its own; each shard's Io hands out one, and start-up code uses the same.
// In simulation this is the in-memory disk with torn writes and lost syncs.
// Paths are absolute or relative to the process. Errors are errno values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/uio.h>

#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton {

using FileFd = int;  // a descriptor, or in simulation a handle; -1 is none

enum class OpenMode {
  kRead,          // must exist
  kReadWrite,     // must exist
  kCreate,        // create or open, read and write
  kCreateNew,     // fails with EEXIST
  kDirectory,     // for sync_directory and syncfs
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
};

struct FileSystemSpace {
  uint64_t total_bytes = 0;
  uint64_t usable_bytes = 0;  // by this process
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<FileFd> open(const std::string& path, OpenMode mode) = 0;
  virtual void close(FileFd fd) = 0;
  // Bytes read, short only at the end of the file.
  virtual Result<size_t> pread(FileFd fd, MutableBytes into, uint64_t position) = 0;
  // Writes everything or returns an error (a short write is continued inside). Bytes may be in the
  // page cache only; durable after sync.
  virtual Status pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) = 0;
  virtual Result<uint64_t> size(FileFd fd) = 0;
  virtual Status truncate(FileFd fd, uint64_t size) = 0;
  // Reserves blocks without changing the file's size (FALLOC_FL_KEEP_SIZE). ENOSPC is reported;
  // EOPNOTSUPP counts as success.
  virtual Status reserve(FileFd fd, uint64_t position, uint64_t length) = 0;
  // Blocking fdatasync, for start-up, shutdown and small metadata files only.
  virtual Status sync(FileFd fd) = 0;
  // Starts write-back of a range without waiting (sync_file_range). A hint.
  virtual void start_writeback(FileFd fd, uint64_t position, uint64_t length) = 0;

  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status unlink(const std::string& path) = 0;
  virtual Status make_directory(const std::string& path) = 0;    // EEXIST is success
  virtual Status remove_directory(const std::string& path) = 0;  // must be empty
  virtual Status sync_directory(const std::string& path) = 0;
  // Blocking syncfs of the file system that holds `directory`: everything written, created and renamed so
  // far is durable. For start-up and shutdown, where it stands for thousands of single syncs. Reports
  // write-back errors since the descriptor was opened.
  virtual Status sync_file_system(FileFd directory) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  // Modification time in ms since the epoch.
  virtual Result<int64_t> modified_ms(const std::string& path) = 0;
  // Of the file system that holds `path`.
  virtual Result<FileSystemSpace> space(const std::string& path) = 0;
  // Takes an exclusive advisory lock that dies with the process; EWOULDBLOCK when held by another.
  virtual Result<FileFd> lock(const std::string& path) = 0;
};

// Whole small files (checkpoints, meta.properties). read_file refuses more than max_bytes (EFBIG).
Result<std::string> read_file(FileSystem& files, const std::string& path, size_t max_bytes);
// Writes path + ".tmp", syncs it, renames it over path and syncs the directory.
Status write_file_atomically(FileSystem& files, const std::string& path, std::string_view text);

}  // namespace pelton
