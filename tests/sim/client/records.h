// Records of the simulation: the value says which record it is, and every byte behind that follows from it,
// so that a reader knows what it sees and whether it is whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/batch_builder.h"
#include "tests/sim/model.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

// What a client compresses its next batch with.
proto::Codec any_codec(World& world);

std::vector<uint8_t> record_value(const RecordId& id, size_t filler);
// nullopt: not a value of ours, or damaged.
std::optional<RecordId> read_record_value(Bytes value);

// What a fetch brought of one partition.
struct FetchedBatch {
  int64_t base_offset = 0;
  int64_t next_offset = 0;
  std::vector<RecordId> records;
};
// The error says what no broker may hand out. A batch cut at the end is left out.
Result<std::vector<FetchedBatch>, std::string> read_batches(Bytes bytes);

}  // namespace pelton::sim
