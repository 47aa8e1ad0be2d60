// Admission: one accepted socket's place among the connections: asks for it, holds it, gives it back.
//
// Home shard: that of the ConnectionSet that accepted the socket, which owns it for all its life; the connection
// may have moved to another shard meanwhile. It travels to the limits' shard and back; who holds it reads and
// writes it alone. While a connection lives its shard holds it.
#pragma once

#include <cstdint>
#include <string>

#include "broker/net/close_reason.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/io.h"
#include "reactor/shard.h"

namespace pelton::broker {

class ConnectionLimits;
class ConnectionSet;

struct OwnedTag;
struct WaitTag;
struct Admission : ListHook<OwnedTag>, ListHook<WaitTag> {
  enum class State : uint8_t { kAsks, kAdmitted, kRefused, kLeaves, kLeft };

  Admission(ConnectionSet& its_set, ShardId its_home);
  // Once, on the home shard. The answer may come from inside the call.
  void ask(Shard& here);
  // On the shard of its connection, which has ended.
  void leave(Shard& here);

  ConnectionSet& set;
  ShardId home;
  SocketFd socket = -1;   // while it asks
  std::string listener;
  std::string address;    // of the client, plain
  bool counted_in_time = false;  // its listener's rate has counted it; for ConnectionLimits
  State state = State::kAsks;
  CloseReason reason = CloseReason::kMaxConnections;  // when it is refused

  // For ConnectionLimits, on its shard: it is decided, or gone.
  void tell_home(Shard& limits_shard, State decided);

 private:
  void at_limits(Shard& limits_shard);
  void at_home(Shard& here);

  Message to_limits_;
  Message to_home_;
};

}  // namespace pelton::broker
