// ProduceShard: what the Produce requests of one shard's connections share: the order of each connection,
// and how much decompressing the shard does itself.
//
// Owner shard: one. Lifetime: its BrokerShard's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/produce/produce_order.h"
#include "proto/compression.h"

namespace pelton::broker {

class ProduceShard {
 public:
  // A shard opens compressed batches up to this size itself, as long as they stay below kInlineOutput, and
  // writes plain ones anew up to kInlineRebuild: a few tenths of a millisecond at most (gzip). What is more
  // goes to the helper threads.
  static constexpr size_t kInlineBatch = 32 * 1024;
  static constexpr size_t kInlineOutput = 256 * 1024;
  static constexpr size_t kInlineRebuild = 4 * 1024;
  // So much a shard does in one turn of its loop; what is more goes to the helpers too.
  static constexpr size_t kInlinePerTurn = 1024 * 1024;

  ProduceOrder& order() { return order_; }
  proto::CodecContexts& contexts() { return contexts_; }

  // Whether there is time in this turn for a batch of this size.
  bool may_work_inline(uint64_t turn_ns, size_t batch_size) {
    if (turn_ns != turn_ns_) {
      turn_ns_ = turn_ns;
      left_ = kInlinePerTurn;
    }
    return batch_size <= left_;
  }
  void worked_inline(size_t bytes) { left_ -= bytes < left_ ? bytes : left_; }

 private:
  ProduceOrder order_;
  proto::CodecContexts contexts_;
  uint64_t turn_ns_ = 0;
  size_t left_ = 0;
};

}  // namespace pelton::broker
