// SimConnection: one TCP connection of the simulated network: two ends, a bounded buffer each way, bytes
// that take their time, ends that finish, break or fall silent.
//
// Owner: shared by its two ends and by the events under way on it. One thread.
// Invariant: bytes arrive in the order in which they were sent; after a reset nothing arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <sys/uio.h>

#include "reactor/base/bytes.h"
#include "reactor/io.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

enum class Side : uint8_t { kClient = 0, kServer = 1 };
inline Side other(Side side) { return side == Side::kClient ? Side::kServer : Side::kClient; }

class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  SimConnection(World& world, uint64_t id, SocketAddress client, SocketAddress server);

  uint64_t id() const { return id_; }
  const SocketAddress& address(Side side) const { return end(side).address; }

  // Bytes taken (maybe fewer than given), -EAGAIN when the buffer is full, -EPIPE, -ECONNRESET.
  int64_t send(Side from, const iovec* pieces, int count);
  // Bytes received (maybe fewer than there are), 0 = the peer has finished, -EAGAIN, -ECONNRESET.
  int64_t recv(Side at, MutableBytes into);
  // Whether send or recv would say something else than -EAGAIN.
  bool writable(Side side) const;
  bool readable(Side side) const;
  size_t room(Side from) const;

  // No more bytes come from this side; those under way still arrive.
  void finish(Side side);
  // Nor does this side take any: what still arrives breaks the other end.
  void close(Side side);
  // The connection breaks: at once on this side, a little later on the other one.
  void reset(Side side);
  bool broken(Side side) const { return end(side).broken; }
  // The machine of this side is gone without a word.
  void vanish(Side side);
  bool unread(Side side) const { return !end(side).arrived.empty(); }

  // Called when an end may have become readable or writable.
  void watch(Side side, std::function<void()> changed) { end(side).changed = std::move(changed); }
  void unwatch(Side side) { end(side).changed = nullptr; }

 private:
  struct End {
    SocketAddress address;
    std::string arrived;         // sent by the other side
    size_t under_way = 0;        // bytes to this end that have not arrived
    size_t capacity = 0;         // of both together
    uint64_t last_arrival_ns = 0;
    bool peer_finished = false;  // and everything has arrived
    bool finished = false;
    bool closed = false;
    bool broken = false;
    bool gone = false;
    std::function<void()> changed;
  };
  End& end(Side side) { return ends_[static_cast<size_t>(side)]; }
  const End& end(Side side) const { return ends_[static_cast<size_t>(side)]; }

  // Runs `event` when what was sent before has arrived at `to`.
  void deliver(Side to, std::function<void()> event);
  void arrive(Side to, const std::string& bytes);
  void break_end(Side side);
  void notify(Side side);

  World& world_;
  uint64_t id_;
  End ends_[2];
};

}  // namespace pelton::sim
