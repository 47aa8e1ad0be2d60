// What can be said of a partition's record data before its records are looked at, in Apache Kafka's order.
// A slot that fails has its error; one whose log start offset belongs in the answer keeps its shard.
//
// Home shard.
#pragma once

#include <cstdint>

#include "broker/produce/produce_state.h"

namespace pelton::broker {

// There is exactly one batch, of a version that the request may carry. Cuts off what follows it and is none.
void check_frame(ProduceSlot& slot, int16_t request_version);

// Size, CRC and header. The frame is right.
void check_header(ProduceSlot& slot, const storage::LogConfig& config);

}  // namespace pelton::broker
