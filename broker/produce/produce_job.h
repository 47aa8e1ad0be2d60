// ProduceJob: the preparing of one batch on a helper thread.
//
// Home shard: the connection's. Lifetime: state of the request. While it is under way the slot's batch
// belongs to the helper.
#pragma once

#include "broker/produce/prepare.h"
#include "broker/produce/produce_state.h"
#include "reactor/helper_threads.h"

namespace pelton::broker {

class ProduceJob {
 public:
  ProduceJob(ProduceState& state, ProduceSlot& slot, const BatchRules& rules);

  // The slot is refused when the helpers are too busy.
  void submit();

 private:
  void work(HelperContext& context);
  void done(Shard& here);

  ProduceState& state_;
  ProduceSlot& slot_;
  BatchRules rules_;
  size_t reserved_;
  PreparedBatch prepared_;
  HelperJob job_;
};

// Prepares the slot's batch, at once or by a job; its header was found right.
void prepare_slot(ProduceState& state, ProduceSlot& slot, const storage::LogConfig& config);

// The memory of rebuilt batches; nothing reads it any more.
void release_rebuilt(BrokerShard& home, ProduceSlot& slot);

}  // namespace pelton::broker
