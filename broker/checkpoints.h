// Checkpoint lines of a shard's partitions, as the three checkpoint files of the data directory hold them.
#pragma once

#include <vector>

#include "broker/partition_set.h"
#include "storage/log_dir.h"

namespace pelton::broker {

storage::PartitionCheckpoint checkpoint_of(Partition& partition);
std::vector<storage::PartitionCheckpoint> checkpoints_of(PartitionSet& partitions);

}  // namespace pelton::broker
