#include "broker/coordinator/partition_log.h"

#include <algorithm>

#include "proto/batch.h"

namespace pelton::broker::coordinator {

int64_t PartitionLog::start_offset() const { return partition_.log().log_start_offset(); }

int64_t PartitionLog::next_offset() const { return partition_.log().next_offset(); }

size_t PartitionLog::max_batch_bytes() const {
  const storage::LogConfig& config = partition_.config();
  return static_cast<size_t>(std::min(config.max_message_bytes, config.segment_bytes));
}

// Past the high watermark lies what a failed write or sync left behind: a crash may take it back, so that
// no answer may be made of it.
Status PartitionLog::read(int64_t offset, BatchVisitor& visitor) {
  int64_t committed = partition_.high_watermark().offset;
  return partition_.log().for_each_batch(offset, [&](Bytes batch) {
    return proto::BatchView(batch).next_offset() <= committed && visitor.visit(batch);
  });
}

proto::ErrorCode PartitionLog::append(MutableBytes batch, int64_t now_ms) {
  return partition_.append(batch, storage::AppendOrigin::kCoordinator, now_ms).error;
}

void PartitionLog::wait_committed(CommitWaiter& waiter) { partition_.wait_committed(waiter); }

}  // namespace pelton::broker::coordinator
