#include "storage/segment_rewrite.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "storage/segment.h"

namespace pelton::storage {

constexpr size_t kPieceBytes = size_t{256} << 10;

Status write_again(FileSystem& files, Segment& segment, int64_t offset) {
  Result<FileFd> fd = segment.file();
  if (!fd) return std::unexpected(fd.error());
  uint64_t position = 0;
  uint64_t end = segment.size();
  if (segment.base_offset() < offset) {
    Result<std::optional<BatchPlace>> place = segment.locate(offset, end);
    if (!place) return std::unexpected(place.error());
    position = *place ? (*place)->position : end;
  }
  if (position == end) return {};
  // The kernel tells of a failure once: what it still owes of the old one is not to be held against what is
  // written now.
  (void)files.sync(*fd);
  std::vector<uint8_t> piece(std::min<uint64_t>(end - position, kPieceBytes));
  while (position < end) {
    size_t wanted = std::min<uint64_t>(piece.size(), end - position);
    Result<size_t> got = files.pread(*fd, std::span(piece).first(wanted), position);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) return sys_error(EIO);
    iovec bytes{piece.data(), *got};
    if (Status wrote = files.pwritev(*fd, &bytes, 1, position); !wrote) return wrote;
    position += *got;
  }
  return {};
}

}  // namespace pelton::storage
