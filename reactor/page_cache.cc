#include "reactor/page_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/uio.h>
#include <unistd.h>

namespace pelton {
namespace {

constexpr long kCachestat = 451;  // the same number on every architecture
constexpr uint64_t kPage = 4096;
// Small enough to stay in the core's own cache while a range is read through it.
constexpr size_t kScratch = 64 * 1024;
constexpr size_t kPieces = 16;

struct Range {
  uint64_t offset;
  uint64_t length;
};

struct Counts {
  uint64_t cached;
  uint64_t dirty;
  uint64_t writeback;
  uint64_t evicted;
  uint64_t recently_evicted;
};

long cachestat(int file, Range range, Counts& counts) {
  return ::syscall(kCachestat, file, &range, &counts, 0);
}

// Without a file the call fails with EBADF where it exists and ENOSYS (or EPERM, in an old seccomp
// filter) where it does not.
bool has_cachestat() {
  Counts counts;
  return cachestat(-1, {0, 1}, counts) == 0 || errno == EBADF;
}

}  // namespace

PageCache::PageCache(bool force_probe) : cachestat_(!force_probe && has_cachestat()) {}

bool PageCache::cached(int file, uint64_t position, size_t length) {
  if (length == 0) return true;
  if (!cachestat_) return probe(file, position, length);
  Counts counts;
  if (cachestat(file, {position, length}, counts) != 0) return false;
  uint64_t pages = (position + length - 1) / kPage - position / kPage + 1;
  return counts.cached >= pages;
}

int64_t PageCache::read(int file, MutableBytes into, uint64_t position) {
  size_t done = 0;
  while (done < into.size()) {
    iovec piece{into.data() + done, into.size() - done};
    ssize_t got = ::preadv2(file, &piece, 1, static_cast<off_t>(position + done), RWF_NOWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    // A short count: the end of the file, which the next call says, or what is not cached.
    done += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(done);
}

bool PageCache::probe(int file, uint64_t position, size_t length) {
  if (!scratch_) scratch_ = std::make_unique_for_overwrite<uint8_t[]>(kScratch);
  std::array<iovec, kPieces> pieces;
  while (length > 0) {
    size_t wanted = 0;
    int count = 0;
    for (; static_cast<size_t>(count) < kPieces && wanted < length; ++count) {
      size_t here = std::min(kScratch, length - wanted);
      pieces[static_cast<size_t>(count)] = {scratch_.get(), here};
      wanted += here;
    }
    ssize_t got = ::preadv2(file, pieces.data(), count, static_cast<off_t>(position), RWF_NOWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || static_cast<size_t>(got) < wanted) return false;
    position += wanted;
    length -= wanted;
  }
  return true;
}

}  // namespace pelton
