// What the process does for its supervisor while the shards run: waits for SIGTERM or SIGINT and, when a
// service manager watches, says in time that every shard turns.
//
// Owner: main's thread, which blocks in it.
#pragma once

#include <csignal>

#include "broker/service/liveness.h"
#include "broker/service/systemd_notify.h"

namespace pelton::broker {

// Returns at the first of `signals`, which every thread must have blocked. A shard that has not turned
// between two signs of life is logged, and no sign is given: the service manager's watchdog then acts.
void supervise(const sigset_t& signals, const SystemdNotify& manager, Liveness& liveness);

}  // namespace pelton::broker
