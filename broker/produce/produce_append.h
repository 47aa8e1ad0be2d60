// The owner's half of a Produce: appends a slot's batch and waits until it is written (acks=1) or committed
// (acks=all).
//
// Owner shard: the partition's.
#pragma once

#include "broker/produce/produce_state.h"

namespace pelton::broker {

struct BrokerShard;

// True: the slot has its answer. False: FanOut::finish follows.
bool append_slot(BrokerShard& here, ProduceSlot& slot);

}  // namespace pelton::broker
