#include "tests/sim/world/sim_network.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reactor/base/check.h"

namespace pelton::sim {

Result<SocketFd> SimNetwork::listen(const SocketAddress& address, int backlog) {
  SocketFd fd = next_fd();
  Listener& made = listeners_[fd];
  made.address = address;
  if (made.address.host.empty()) made.address.host = "127.0.0.1";
  if (address.port == 0) made.address.port = next_port_++;
  made.backlog = static_cast<size_t>(std::max(backlog, 1));
  return fd;
}

SimNetwork::Listener& SimNetwork::listener(SocketFd fd) {
  auto found = listeners_.find(fd);
  CHECK(found != listeners_.end(), "not a listener");
  return found->second;
}

void SimNetwork::close_listener(SocketFd fd) {
  for (const ConnectionPtr& connection : listener(fd).waiting) connection->reset(Side::kServer);
  listeners_.erase(fd);
}

SimNetwork::ConnectionPtr SimNetwork::connect(uint16_t port) {
  uint64_t id = next_connection_++;
  SocketAddress client{"10.0.0." + std::to_string(1 + id % 250),
                       static_cast<uint16_t>(20'000 + id % 20'000)};
  auto connection =
      std::make_shared<SimConnection>(world_, id, std::move(client), SocketAddress{"127.0.0.1", port});
  world_.after(world_.latency(20 * kMicro, 2 * kMilli),
               [this, connection, port] { arrive(connection, port); });
  return connection;
}

void SimNetwork::arrive(const ConnectionPtr& connection, uint16_t port) {
  if (connection->broken(Side::kClient)) return;  // given up
  std::vector<Listener*> there;
  for (auto& [fd, each] : listeners_)
    if (each.address.port == port) there.push_back(&each);
  Listener* chosen = there.empty() ? nullptr : there[world_.below(there.size())];
  if (chosen == nullptr || chosen->waiting.size() >= chosen->backlog)
    return connection->reset(Side::kServer);
  world_.trace("connection arrives", connection->id());
  chosen->waiting.push_back(connection);
  if (chosen->changed) chosen->changed();
}

SocketFd SimNetwork::accepted(const ConnectionPtr& connection) {
  SocketFd fd = next_fd();
  served_[fd].connection = connection;
  return fd;
}

SimNetwork::ConnectionPtr SimNetwork::served(SocketFd fd) const {
  auto found = served_.find(fd);
  return found == served_.end() ? nullptr : found->second.connection;
}

void SimNetwork::used_by(SocketFd fd, const void* shard, std::function<void()> leave) {
  Served& socket = served_.at(fd);
  if (socket.shard != nullptr && socket.shard != shard) socket.leave();
  socket.shard = shard;
  socket.leave = std::move(leave);
}

void SimNetwork::break_one() {
  if (served_.empty()) return;
  auto chosen = std::next(served_.begin(), static_cast<ptrdiff_t>(world_.below(served_.size())));
  ConnectionPtr connection = chosen->second.connection;
  connection->reset(world_.chance(0.5) ? Side::kClient : Side::kServer);
}

void SimNetwork::crash(CrashKind kind) {
  std::vector<ConnectionPtr> connections;
  for (const auto& [fd, each] : served_) connections.push_back(each.connection);
  for (auto& [fd, each] : listeners_)
    connections.insert(connections.end(), each.waiting.begin(), each.waiting.end());
  served_.clear();
  listeners_.clear();
  for (const ConnectionPtr& connection : connections) {
    connection->unwatch(Side::kServer);
    if (kind == CrashKind::kPowerLoss) {
      connection->vanish(Side::kServer);
    } else if (connection->unread(Side::kServer) || world_.chance(0.3)) {
      connection->reset(Side::kServer);
    } else {
      connection->close(Side::kServer);
    }
  }
}

}  // namespace pelton::sim
