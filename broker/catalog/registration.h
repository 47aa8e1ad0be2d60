// What a start adds to the metadata log so that it says the truth about this node: that it is registered
// and not fenced, and that it leads the partitions whose only replica it is.
#pragma once

#include <cstdint>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"

namespace pelton::broker {

inline constexpr std::string_view kMetadataVersionFeature = "metadata.version";
// Apache Kafka 4.4's levels.
inline constexpr int16_t kMinMetadataVersion = 7;
inline constexpr int16_t kMetadataVersion = 33;

// Adds a registration when the last one is not this node's as it is now. `epoch` = the record's offset
// if it is appended next.
void plan_registration(const CatalogReplay& state, const BrokerShard& here, int64_t epoch,
                       MetadataRecords& records);

// Apache Kafka leaves partitions without a leader when it stops; this node takes those that are its.
void plan_leaders(const CatalogReplay& state, int32_t node_id, MetadataRecords& records);

}  // namespace pelton::broker
