// The answer to a Produce request: one entry for each partition, topics together.
//
// Home shard.
#pragma once

#include "broker/produce/produce_state.h"

namespace pelton::broker {

// Of several entries for one partition the last counts, as in Apache Kafka, which keeps them in a map: marks
// the others. Called before anything is done with the slots; topics and slots are in request order.
void mark_superseded(ProduceState& state);

// All slots are finished.
void answer_produce(BrokerShard& home, Request& request);

}  // namespace pelton::broker
