// Producer snapshots: the .snapshot files, producer state up to (not including) the offset in the name.
//
// Format version 1, big-endian: int16 version, uint32 CRC-32C of all that follows, int32 count, then per
// producer: int64 id, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta of the last
// batch, int64 timestamp, int32 coordinator epoch, int64 first offset of the current transaction (-1).
// Only the last batch of a producer survives in it. Pure functions, any shard.
#pragma once

#include <optional>
#include <vector>

#include "storage/producer_state.h"

namespace pelton::storage {

inline constexpr size_t kMaxSnapshotBytes = 1 << 30;

std::vector<uint8_t> encode_producer_snapshot(const ProducerState& state);
// nullopt when the bytes are no sound snapshot: recovery then takes an older one.
std::optional<ProducerState> decode_producer_snapshot(Bytes bytes);

}  // namespace pelton::storage
