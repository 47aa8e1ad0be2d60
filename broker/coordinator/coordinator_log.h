// CoordinatorLog: what the runtime needs of a partition's log. The broker's Partition stands behind
// it; in tests a log in memory.
//
// Owner shard: that of the partition.
#pragma once

#include <cstdint>

#include "broker/partition.h"
#include "proto/error_code.h"
#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::broker::coordinator {

class BatchVisitor {
 public:
  // False ends the reading.
  virtual bool visit(Bytes batch) = 0;

 protected:
  ~BatchVisitor() = default;
};

class CoordinatorLog {
 public:
  virtual ~CoordinatorLog() = default;
  virtual int64_t start_offset() const = 0;
  // Where the next record goes.
  virtual int64_t next_offset() const = 0;
  // The largest batch it takes.
  virtual size_t max_batch_bytes() const = 0;
  // Whole batches from `offset` on; blocking.
  virtual Status read(int64_t offset, BatchVisitor& visitor) = 0;
  // The bytes stay in place until the waiter for their last offset has been called.
  virtual proto::ErrorCode append(MutableBytes batch, int64_t now_ms) = 0;
  virtual void wait_committed(CommitWaiter& waiter) = 0;
};

}  // namespace pelton::broker::coordinator
