// SimNetwork: ports, listeners and connections between test clients and simulated brokers.
//
// Owner: the run. Lifetime: outlives the Ios and clients that use it.
// Several listeners may share a port (SO_REUSEPORT): a new connection goes to one of them, as drawn.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reactor/io.h"
#include "tests/sim/world/sim_connection.h"
#include "tests/sim/world/sim_disk.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

class SimNetwork {
 public:
  using ConnectionPtr = std::shared_ptr<SimConnection>;

  struct Listener {
    SocketAddress address;
    size_t backlog = 0;
    std::deque<ConnectionPtr> waiting;  // connected, not accepted
    std::function<void()> changed;
  };

  explicit SimNetwork(World& world) : world_(world) {}

  // --- the broker's side ---
  // Port 0 picks one.
  Result<SocketFd> listen(const SocketAddress& address, int backlog);
  Listener& listener(SocketFd fd);
  bool is_listener(SocketFd fd) const { return listeners_.contains(fd); }
  void close_listener(SocketFd fd);
  SocketFd next_fd() { return next_fd_++; }
  // A connection was taken by the broker.
  void accepted(const ConnectionPtr& connection) { served_.push_back(connection); }

  // --- the clients' side ---
  // A connection under way: sends at once, breaks when nobody listens.
  ConnectionPtr connect(uint16_t port);

  // --- faults ---
  // Breaks one connection, as drawn.
  void break_one();
  // The process with all listeners and served connections is gone.
  void crash(CrashKind kind);

 private:
  void arrive(const ConnectionPtr& connection, uint16_t port);
  void forget_dead();

  World& world_;
  std::map<SocketFd, Listener> listeners_;
  std::vector<std::weak_ptr<SimConnection>> served_;
  uint64_t next_connection_ = 1;
  SocketFd next_fd_ = 1'000'000;  // far from the disk's descriptors: mixing them up shows
  uint16_t next_port_ = 40'000;
};

}  // namespace pelton::sim
