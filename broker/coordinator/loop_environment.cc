#include "broker/coordinator/loop_environment.h"

namespace pelton::broker::coordinator {

TimerWheel& LoopEnvironment::timers() { return loop_.timers(); }

uint64_t LoopEnvironment::now_ns() { return loop_.now_ns(); }

int64_t LoopEnvironment::wall_ms() { return loop_.wall_ms(); }

uint64_t LoopEnvironment::random() { return loop_.io().random(); }

}  // namespace pelton::broker::coordinator
