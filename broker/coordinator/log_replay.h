// LogReplay: feeds a coordinator's log to its state machine, slice by slice.
//
// Owner shard: the coordinator partition's. One object for one load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broker/coordinator/coordinator_log.h"
#include "broker/coordinator/state_machine.h"

namespace pelton::broker::coordinator {

class LogReplay final : public BatchVisitor {
 public:
  LogReplay(CoordinatorLog& log, StateMachine& machine)
      : log_(log), machine_(machine), next_(log.start_offset()) {}

  enum class Step { kMore, kEnd, kFailed };
  // Replays batches until `budget` bytes of them were read, and takes them off it.
  Step step(size_t& budget);
  // After kFailed: why, for the log.
  const std::string& failure() const { return failure_; }

 private:
  bool visit(Bytes batch) override;
  bool replay_batch(Bytes batch);
  bool replay_control(const proto::BatchView& batch);
  bool fail(std::string why);

  CoordinatorLog& log_;
  StateMachine& machine_;
  int64_t next_;
  size_t budget_ = 0;
  std::vector<uint8_t> plain_;  // records of a compressed batch
  std::string failure_;
};

}  // namespace pelton::broker::coordinator
