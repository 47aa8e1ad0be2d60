// CRC-32C (Castagnoli), the checksum of record batches v2 and of producer snapshots.
// Pure functions, any shard.
#pragma once

#include <cstdint>

#include "reactor/base/bytes.h"

namespace pelton::proto {

// The checksum of `data` in its usual form: crc32c("123456789") == 0xE3069283.
uint32_t crc32c(Bytes data);

// The checksum of A followed by `more`, where `crc` is the checksum of A. crc32c_extend(0, x) == crc32c(x).
uint32_t crc32c_extend(uint32_t crc, Bytes more);

}  // namespace pelton::proto
