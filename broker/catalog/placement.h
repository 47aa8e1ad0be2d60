// Placement: which shard owns a partition. A function of name, index and number of shards alone, so
// that it needs no storing and a restart with the same pelton.shards gives the same owners.
#pragma once

#include <cstdint>
#include <string_view>

#include "reactor/shard.h"

namespace pelton::broker {

// The partitions of one topic go round robin over the shards, from a start that the name chooses.
ShardId shard_of(std::string_view topic, int32_t partition, int shards);

}  // namespace pelton::broker
