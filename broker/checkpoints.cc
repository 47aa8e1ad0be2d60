#include "broker/checkpoints.h"

namespace pelton::broker {

storage::PartitionCheckpoint checkpoint_of(Partition& partition) {
  const storage::Log& log = partition.log();
  return {partition.id(), log.recovery_point(), log.log_start_offset(),
          partition.high_watermark().offset, partition.topic_id()};
}

std::vector<storage::PartitionCheckpoint> checkpoints_of(PartitionSet& partitions) {
  std::vector<storage::PartitionCheckpoint> all;
  all.reserve(partitions.size());
  partitions.for_each([&](Partition& partition) { all.push_back(checkpoint_of(partition)); });
  return all;
}

}  // namespace pelton::broker
