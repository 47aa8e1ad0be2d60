// OpenFile: a descriptor that is closed on every way out. For short uses; segment files that stay open
// belong to the descriptor cache.
#pragma once

#include <string>
#include <utility>

#include "reactor/file_system.h"

namespace pelton::storage {

class OpenFile {
 public:
  OpenFile(FileSystem& files, FileFd fd) : files_(&files), fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : files_(other.files_), fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) files_->close(fd_);
  }

  static Result<OpenFile> open(FileSystem& files, const std::string& path, OpenMode mode) {
    Result<FileFd> fd = files.open(path, mode);
    if (!fd) return std::unexpected(fd.error());
    return OpenFile(files, *fd);
  }
  FileFd fd() const { return fd_; }

 private:
  FileSystem* files_;
  FileFd fd_;
};

}  // namespace pelton::storage
