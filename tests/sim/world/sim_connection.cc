#include "tests/sim/world/sim_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pelton::sim {
namespace {

constexpr uint64_t kLeastDelay = 15 * kMicro;
constexpr uint64_t kMostDelay = 4 * kMilli;
constexpr double kPartial = 0.15;

}  // namespace

SimConnection::SimConnection(World& world, uint64_t id, SocketAddress client, SocketAddress server)
    : world_(world), id_(id) {
  // From a buffer that holds less than a batch to one that holds many.
  for (End& each : ends_) each.capacity = size_t{1} << world.between(9, 17);
  end(Side::kClient).address = std::move(client);
  end(Side::kServer).address = std::move(server);
}

size_t SimConnection::room(Side from) const {
  const End& to = end(other(from));
  size_t used = to.arrived.size() + to.under_way;
  return used < to.capacity ? to.capacity - used : 0;
}

bool SimConnection::writable(Side side) const {
  return end(side).broken || end(side).finished || room(side) > 0;
}

bool SimConnection::readable(Side side) const {
  const End& at = end(side);
  return at.broken || at.peer_finished || !at.arrived.empty();
}

int64_t SimConnection::send(Side from, const iovec* pieces, int count) {
  if (end(from).broken) return -ECONNRESET;
  if (end(from).finished) return -EPIPE;
  size_t space = room(from);
  if (space == 0) return -EAGAIN;
  if (world_.chance(kPartial)) space = world_.between(1, space);
  std::string bytes;
  for (int i = 0; i < count && bytes.size() < space; ++i)
    bytes.append(static_cast<const char*>(pieces[i].iov_base),
                 std::min(pieces[i].iov_len, space - bytes.size()));
  if (bytes.empty()) return 0;
  auto sent = static_cast<int64_t>(bytes.size());
  Side to = other(from);
  end(to).under_way += bytes.size();
  world_.trace(from == Side::kServer ? "answer bytes" : "request bytes", id_, bytes.size());
  deliver(to, [self = shared_from_this(), to, moved = std::move(bytes)] { self->arrive(to, moved); });
  return sent;
}

void SimConnection::deliver(Side to, std::function<void()> event) {
  End& at = end(to);
  at.last_arrival_ns = std::max(at.last_arrival_ns,
                                world_.now_ns() + world_.latency(kLeastDelay, kMostDelay));
  world_.at(at.last_arrival_ns, std::move(event));
}

void SimConnection::arrive(Side to, const std::string& bytes) {
  End& at = end(to);
  at.under_way -= bytes.size();
  if (at.broken) return;
  if (at.gone || at.closed) {
    // Nobody is there: the machine may answer that, or not be up.
    if (!at.gone || world_.chance(0.5)) break_end(other(to));
    return;
  }
  at.arrived += bytes;
  notify(to);
}

int64_t SimConnection::recv(Side at, MutableBytes into) {
  End& here = end(at);
  if (here.broken) return -ECONNRESET;
  if (here.arrived.empty()) return here.peer_finished ? 0 : -EAGAIN;
  size_t got = std::min(into.size(), here.arrived.size());
  if (world_.chance(kPartial)) got = world_.between(1, got);
  std::copy_n(here.arrived.begin(), got, into.begin());
  here.arrived.erase(0, got);
  notify(other(at));
  return static_cast<int64_t>(got);
}

void SimConnection::finish(Side side) {
  if (end(side).finished || end(side).broken) return;
  end(side).finished = true;
  Side to = other(side);
  deliver(to, [self = shared_from_this(), to] {
    self->end(to).peer_finished = true;
    self->notify(to);
  });
}

void SimConnection::close(Side side) {
  finish(side);
  end(side).closed = true;
}

void SimConnection::reset(Side side) {
  break_end(side);
  Side to = other(side);
  world_.after(world_.latency(kLeastDelay, kMostDelay),
               [self = shared_from_this(), to] { self->break_end(to); });
}

void SimConnection::vanish(Side side) {
  end(side).gone = true;
  end(side).arrived.clear();
  unwatch(side);
}

void SimConnection::break_end(Side side) {
  if (end(side).broken) return;
  world_.trace(side == Side::kServer ? "server end broken" : "client end broken", id_);
  end(side).broken = true;
  end(side).arrived.clear();
  notify(side);
}

void SimConnection::notify(Side side) {
  // A copy: the watcher may end its watch.
  if (auto changed = end(side).changed) changed();
}

}  // namespace pelton::sim
