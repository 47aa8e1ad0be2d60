// PosixFiles: FileSystem over system calls, shared by the io_uring and the poll backend.
//
// Owner shard: none; it holds no state, so any thread may use its own or a shared one.
// Invariant: every descriptor it opens is close-on-exec; EINTR never reaches the caller.
#pragma once

#include <string>
#include <vector>

#include "reactor/file_system.h"

namespace pelton {

class PosixFiles final : public FileSystem {
 public:
  Result<FileFd> open(const std::string& path, OpenMode mode) override;
  void close(FileFd fd) override;
  Result<size_t> pread(FileFd fd, MutableBytes into, uint64_t position) override;
  Status pwritev(FileFd fd, const iovec* pieces, int count, uint64_t position) override;
  Result<uint64_t> size(FileFd fd) override;
  Status truncate(FileFd fd, uint64_t size) override;
  Status reserve(FileFd fd, uint64_t position, uint64_t length) override;
  Status sync(FileFd fd) override;
  void start_writeback(FileFd fd, uint64_t position, uint64_t length) override;

  Status rename(const std::string& from, const std::string& to) override;
  Status unlink(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_file_system(FileFd directory) override;
  bool exists(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Result<int64_t> modified_ms(const std::string& path) override;
  Result<FileSystemSpace> space(const std::string& path) override;
  Result<FileFd> lock(const std::string& path) override;
};

}  // namespace pelton
