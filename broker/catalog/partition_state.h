// A partition between its records and the state: what a PartitionRecord says, what a PartitionChangeRecord
// changes, and the record that says the state again in a snapshot.
#pragma once

#include <cstdint>

#include "broker/catalog/metadata_record.h"
#include "broker/catalog/snapshot.h"

namespace pelton::proto {
struct PartitionChangeRecord;
struct PartitionRecord;
}  // namespace pelton::proto

namespace pelton::broker {

PartitionInfo partition_of(const proto::PartitionRecord& record);
void change_partition(PartitionInfo& partition, const proto::PartitionChangeRecord& change);
// Forgets eligible leader replicas (ClearElrRecord).
void clear_eligible_replicas(PartitionInfo& partition);

// Adds the record that makes the partition as it is.
void add_partition_record(const TopicInfo& topic, const PartitionInfo& partition, int16_t version,
                          MetadataRecords& records);

}  // namespace pelton::broker
