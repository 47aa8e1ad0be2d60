// PageCache: whether a range of a file is wholly in the page cache, so that sendfile will not wait for
// the disk. Asks cachestat(2) (Linux 6.5); before that, or when told to, reads the range with
// RWF_NOWAIT into a small buffer again and again.
//
// Owner shard: one for each Io. An answer is a guess about the next moment, never a promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "reactor/base/bytes.h"

namespace pelton {

class PageCache {
 public:
  // force_probe: never use cachestat.
  explicit PageCache(bool force_probe);

  bool cached(int file, uint64_t position, size_t length);
  // Reads what is cached: bytes, short at the end of the file; -EAGAIN when some of it is not.
  static int64_t read(int file, MutableBytes into, uint64_t position);
  bool uses_cachestat() const { return cachestat_; }

 private:
  bool probe(int file, uint64_t position, size_t length);

  bool cachestat_;
  std::unique_ptr<uint8_t[]> scratch_;  // the probe's; made when first needed
};

}  // namespace pelton
