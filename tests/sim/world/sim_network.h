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
  // Connected sockets of the broker's process, by descriptor; each is used by one shard at a time.
  SocketFd accepted(const ConnectionPtr& connection);
  // nullptr: not open.
  ConnectionPtr served(SocketFd fd) const;
  // `leave` runs when another shard takes the socket over.
  void used_by(SocketFd fd, const void* shard, std::function<void()> leave);
  void closed(SocketFd fd) { served_.erase(fd); }

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

  struct Served {
    ConnectionPtr connection;
    const void* shard = nullptr;
    std::function<void()> leave;
  };

  World& world_;
  std::map<SocketFd, Listener> listeners_;
  std::map<SocketFd, Served> served_;
  uint64_t next_connection_ = 1;
  SocketFd next_fd_ = 1'000'000;  // far from the disk's descriptors: mixing them up shows
  uint16_t next_port_ = 40'000;
};

}  // namespace pelton::sim
