// PartitionLog: a Partition as a coordinator's log. Owner shard and lifetime: those of the
// coordinator partition, which goes before the partition does.
#pragma once

#include "broker/coordinator/coordinator_log.h"

namespace pelton::broker::coordinator {

class PartitionLog final : public CoordinatorLog {
 public:
  explicit PartitionLog(Partition& partition) : partition_(partition) {}

  int64_t start_offset() const override;
  int64_t next_offset() const override;
  size_t max_batch_bytes() const override;
  Status read(int64_t offset, BatchVisitor& visitor) override;
  proto::ErrorCode append(MutableBytes batch, int64_t now_ms) override;
  void wait_committed(CommitWaiter& waiter) override;

 private:
  Partition& partition_;
};

}  // namespace pelton::broker::coordinator
