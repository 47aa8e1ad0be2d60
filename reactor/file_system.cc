#include "reactor/file_system.h"

#include <algorithm>

namespace pelton {
namespace {

// Closes on every way out.
class OpenFile {
 public:
  OpenFile(FileSystem& files, FileFd fd) : files_(files), fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { files_.close(fd_); }
  FileFd fd() const { return fd_; }

 private:
  FileSystem& files_;
  FileFd fd_;
};

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_and_sync(FileSystem& files, const std::string& path, std::string_view text) {
  Result<FileFd> fd = files.open(path, OpenMode::kCreate);
  if (!fd) return std::unexpected(fd.error());
  OpenFile file(files, *fd);
  // The file may be left over from an earlier attempt.
  if (Status cut = files.truncate(file.fd(), 0); !cut) return cut;
  iovec piece{const_cast<char*>(text.data()), text.size()};
  if (Status wrote = files.pwritev(file.fd(), &piece, 1, 0); !wrote) return wrote;
  return files.sync(file.fd());
}

}  // namespace

Result<std::string> read_file(FileSystem& files, const std::string& path, size_t max_bytes) {
  Result<FileFd> fd = files.open(path, OpenMode::kRead);
  if (!fd) return std::unexpected(fd.error());
  OpenFile file(files, *fd);
  Result<uint64_t> size = files.size(file.fd());
  if (!size) return std::unexpected(size.error());
  if (*size > max_bytes) return sys_error(EFBIG);
  std::string text(static_cast<size_t>(*size), '\0');
  MutableBytes into(reinterpret_cast<uint8_t*>(text.data()), text.size());
  Result<size_t> got = files.pread(file.fd(), into, 0);
  if (!got) return std::unexpected(got.error());
  text.resize(*got);
  return text;
}

Status write_file_atomically(FileSystem& files, const std::string& path, std::string_view text) {
  std::string temporary = path + ".tmp";
  if (Status wrote = write_and_sync(files, temporary, text); !wrote) return wrote;
  if (Status renamed = files.rename(temporary, path); !renamed) return renamed;
  return files.sync_directory(directory_of(path));
}

}  // namespace pelton
