// LoopEnvironment: a shard's loop as the environment of its coordinators. Owner shard: the loop's.
#pragma once

#include "broker/coordinator/state_machine.h"
#include "reactor/loop.h"

namespace pelton::broker::coordinator {

class LoopEnvironment final : public Environment {
 public:
  explicit LoopEnvironment(Loop& loop) : loop_(loop) {}

  TimerWheel& timers() override;
  uint64_t now_ns() override;
  int64_t wall_ms() override;
  uint64_t random() override;

 private:
  Loop& loop_;
};

}  // namespace pelton::broker::coordinator
