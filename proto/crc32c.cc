#include "proto/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>

namespace pelton::proto {

uint32_t crc32c(Bytes data) { return crc32c_extend(0, data); }

// ISA-L neither inverts the register at the start nor at the end, and takes an int length.
uint32_t crc32c_extend(uint32_t crc, Bytes more) {
  uint32_t state = ~crc;
  while (!more.empty()) {
    size_t part = std::min<size_t>(more.size(), INT_MAX);
    // The C interface lacks const; it only reads.
    state = crc32_iscsi(const_cast<uint8_t*>(more.data()), static_cast<int>(part), state);
    more = more.subspan(part);
  }
  return ~state;
}

}  // namespace pelton::proto
