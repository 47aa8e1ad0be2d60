#include "tests/sim/world/sim_io.h"

#include <algorithm>
#include <utility>

#include "reactor/base/check.h"

namespace pelton::sim {

// One listening socket: connections wait in the network and reach the op one after the other.
struct SimIo::Acceptor {
  Acceptor(SimIo* io, SocketFd listening, AcceptOp* to)
      : owner(io), listener(listening), op(to), deliver(Completion::bind<&Acceptor::run>(this)) {}
  void run(int32_t) { owner->deliver_accepted(*this); }

  SimIo* owner;
  SocketFd listener;
  AcceptOp* op;
  Completion deliver;
  bool stopping = false;
};

SimIo::SimIo(World& world, SimDisk& disk, SimNetwork& network, const Shape& shape)
    : world_(world), disk_(disk), network_(network), shape_(shape) {}

SimIo::~SimIo() {
  CHECK(!dead_, "a dead process is kept: operations under way point here");
}

// ---------------------------------------------------------------- one poll

uint64_t SimIo::wants() const {
  if (woken_ || !ended_.empty() || !touched_.empty()) return 0;
  return deadline_ns_.value_or(UINT64_MAX);
}

void SimIo::poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) {
  CHECK(!dead_, "a dead process runs");
  woken_ = false;
  deadline_ns_ = deadline_ns;
  while (waits_ && ended_.empty()) {
    CHECK(world_.has_events(), "waits for what never comes");
    world_.advance_to(world_.next_event_ns());
    world_.fire_due();
  }
  for (SocketFd fd : std::exchange(touched_, {})) {
    auto found = sockets_.find(fd);
    if (found == sockets_.end()) continue;
    found->second.touched = false;
    attempt(found->second);
  }
  poll_acceptors();
  ready.splice(ready.end(), ended_);
}

void SimIo::end(Completion& completion, int64_t result) {
  completion.set_result(static_cast<int32_t>(result));
  ended_.push_back(completion);
}

template <class Act>
void SimIo::end_later(Completion& completion, uint64_t delay_ns, Act act) {
  completion.mark_started();
  world_.after(delay_ns, [this, &completion, act] {
    if (!dead_) end(completion, act());
  });
}

// ---------------------------------------------------------------- listening

Result<SocketFd> SimIo::listen(const SocketAddress& address, int backlog) {
  return network_.listen(address, backlog);
}

void SimIo::accept(SocketFd listener, AcceptOp& op) {
  op.done.mark_started();
  acceptors_.push_back(std::make_unique<Acceptor>(this, listener, &op));
  network_.listener(listener).changed = [this] { woken_ = true; };
}

void SimIo::poll_acceptors() {
  for (const auto& acceptor : acceptors_) {
    if (acceptor->deliver.pending()) continue;
    if (!acceptor->stopping && network_.listener(acceptor->listener).waiting.empty()) continue;
    acceptor->deliver.mark_started();
    end(acceptor->deliver, 0);
  }
}

void SimIo::deliver_accepted(Acceptor& acceptor) {
  while (!acceptor.stopping && !network_.listener(acceptor.listener).waiting.empty()) {
    auto connection = network_.listener(acceptor.listener).waiting.front();
    network_.listener(acceptor.listener).waiting.pop_front();
    world_.trace("accept", connection->id());
    acceptor.op->done.set_result(network_.accepted(connection));
    acceptor.op->done.run();
    acceptor.op->done.mark_started();
  }
  if (acceptor.stopping) finish_accept(acceptor);
}

void SimIo::stop_accept(AcceptOp& op) {
  for (const auto& acceptor : acceptors_) {
    if (acceptor->op != &op) continue;
    acceptor->stopping = true;
    woken_ = true;
    return;
  }
  CHECK(false, "stopped an accept that does not run");
}

void SimIo::finish_accept(Acceptor& acceptor) {
  auto found = std::find_if(acceptors_.begin(), acceptors_.end(),
                            [&](const auto& one) { return one.get() == &acceptor; });
  std::unique_ptr<Acceptor> last = std::move(*found);
  acceptors_.erase(found);
  last->op->done.set_result(-ECANCELED);
  last->op->done.run();
}

// ---------------------------------------------------------------- sockets

SimIo::Socket& SimIo::socket(SocketFd fd) {
  auto found = sockets_.find(fd);
  if (found != sockets_.end()) return found->second;
  auto connection = network_.served(fd);
  CHECK(connection != nullptr, "a socket that is not open");
  network_.used_by(fd, this, [this, fd] { leave(fd); });
  connection->watch(Side::kServer, [this, fd] { touch(fd); });
  Socket& made = sockets_[fd];
  made.connection = std::move(connection);
  return made;
}

void SimIo::leave(SocketFd fd) {
  const Socket& left = sockets_.at(fd);
  CHECK(left.recv == nullptr && left.send == nullptr && left.writable == nullptr,
        "a socket moves to another shard with operations under way");
  sockets_.erase(fd);
}

Result<SocketAddress> SimIo::local_address(SocketFd fd) {
  if (network_.is_listener(fd)) return network_.listener(fd).address;
  return socket(fd).connection->address(Side::kServer);
}

Result<SocketAddress> SimIo::peer_address(SocketFd fd) {
  if (socket(fd).connection->broken(Side::kServer)) return sys_error(ENOTCONN);
  return socket(fd).connection->address(Side::kClient);
}

void SimIo::touch(SocketFd fd) {
  auto found = sockets_.find(fd);
  if (found == sockets_.end() || found->second.touched) return;
  found->second.touched = true;
  touched_.push_back(fd);
}

void SimIo::recv(SocketFd fd, RecvOp& op) {
  CHECK(socket(fd).recv == nullptr, "two receives on a socket");
  op.done.mark_started();
  socket(fd).recv = &op;
  touch(fd);
}

void SimIo::send(SocketFd fd, SendOp& op) {
  CHECK(socket(fd).send == nullptr, "two sends on a socket");
  op.done.mark_started();
  socket(fd).send = &op;
  touch(fd);
}

void SimIo::poll_writable(SocketFd fd, Op& op) {
  CHECK(socket(fd).writable == nullptr, "two waits on a socket");
  op.done.mark_started();
  socket(fd).writable = &op;
  touch(fd);
}

void SimIo::attempt(Socket& at) {
  if (at.recv != nullptr) attempt_recv(at);
  if (at.send != nullptr) attempt_send(at);
  if (at.writable != nullptr && (at.shut_down || at.connection->writable(Side::kServer)))
    end(std::exchange(at.writable, nullptr)->done, 0);
}

void SimIo::attempt_recv(Socket& at) {
  RecvOp& op = *at.recv;
  if (at.shut_down) {
    at.recv = nullptr;
    return end(op.done, 0);
  }
  if (!at.connection->readable(Side::kServer)) return;
  at.recv = nullptr;
  op.lease = {};
  if (!op.into.empty()) return end(op.done, at.connection->recv(Side::kServer, op.into));
  if (lent_.size() >= shape_.leases) return end(op.done, -ENOBUFS);
  Lease lent = lend();
  int64_t got = at.connection->recv(Side::kServer, {lent.data, lent.capacity});
  if (got > 0) {
    lent.size = static_cast<uint32_t>(got);
    op.lease = lent;
  } else {
    release(lent);
  }
  end(op.done, got);
}

std::optional<Lease> SimIo::lease() {
  if (leases_are_scarce()) return std::nullopt;
  return lend();
}

Lease SimIo::lend() {
  auto buffer = std::make_unique<uint8_t[]>(shape_.lease_bytes);
  Lease lent{buffer.get(), 0, shape_.lease_bytes, next_lease_};
  lent_[next_lease_++] = std::move(buffer);
  return lent;
}

void SimIo::attempt_send(Socket& at) {
  SendOp& op = *at.send;
  int64_t sent = at.shut_down ? -EPIPE : at.connection->send(Side::kServer, op.pieces, op.count);
  if (sent == -EAGAIN) return;
  at.send = nullptr;
  end(op.done, sent);
}

void SimIo::release(const Lease& lease) {
  CHECK(lent_.erase(lease.id) == 1, "a lease released twice");
}

int64_t SimIo::try_send(SocketFd fd, const iovec* pieces, int count, bool) {
  if (world_.chance(0.02)) return -EAGAIN;
  return socket(fd).connection->send(Side::kServer, pieces, count);
}

int64_t SimIo::try_sendfile(SocketFd fd, FileFd file, uint64_t position, size_t length) {
  SimConnection& connection = *socket(fd).connection;
  auto from = disk_.file(file);
  if (!connection.writable(Side::kServer)) return -EAGAIN;
  std::vector<uint8_t> bytes(std::min(length, std::max<size_t>(connection.room(Side::kServer), 1)));
  size_t got = from->read(bytes, position);
  if (got == 0) return 0;
  iovec piece{bytes.data(), got};
  return connection.send(Side::kServer, &piece, 1);
}

void SimIo::shutdown(SocketFd fd) {
  Socket& at = socket(fd);
  at.shut_down = true;
  at.connection->close(Side::kServer);
  touch(fd);
}

void SimIo::close(SocketFd fd) {
  if (network_.is_listener(fd)) {
    // An accept that is being stopped looks at its listener no more.
    return network_.close_listener(fd);
  }
  Socket& at = socket(fd);
  CHECK(at.recv == nullptr && at.send == nullptr && at.writable == nullptr,
        "closed a socket with operations under way");
  at.connection->unwatch(Side::kServer);
  if (at.connection->unread(Side::kServer))
    at.connection->reset(Side::kServer);
  else
    at.connection->close(Side::kServer);
  sockets_.erase(fd);
  network_.closed(fd);
}

// ---------------------------------------------------------------- files

int64_t SimIo::try_read(FileFd file, MutableBytes into, uint64_t position) {
  if (!world_.chance(shape_.cached)) return -EAGAIN;
  return static_cast<int64_t>(disk_.file(file)->read(into, position));
}

void SimIo::read(FileFd file, uint64_t position, ReadOp& op) {
  end_later(op.done, world_.latency(80 * kMicro, 20 * kMilli),
            [from = disk_.file(file), position, &op]() -> int64_t {
              return static_cast<int64_t>(from->read(op.into, position));
            });
}

void SimIo::start_sync(SimDisk::Sync sync, Op& op, uint64_t id) {
  bool fails = world_.chance(disk_.faults.sync_error);
  uint64_t takes = world_.chance(disk_.faults.sync_stall)
                       ? world_.between(kSecond, 5 * kSecond)
                       : world_.latency(shape_.sync_low_ns, shape_.sync_high_ns);
  end_later(op.done, takes,
            [this, promise = std::move(sync), fails, id]() -> int64_t {
              world_.trace(fails ? "sync failed" : "synced", id);
              if (disk_.lost_power()) return -EIO;
              if (fails) {
                disk_.fail_sync(promise);
                return -EIO;
              }
              if (!disk_.faults.sync_lies) disk_.finish_sync(promise);
              // What another sync lost, the kernel tells this one too.
              return disk_.tells_error(promise) ? -EIO : 0;
            });
}

void SimIo::sync(FileFd file, Op& op) {
  start_sync(disk_.begin_sync(file), op, disk_.file(file)->id());
}

void SimIo::sync_file_system(FileFd directory, Op& op) {
  start_sync(disk_.begin_file_system_sync(directory), op, 0);
}

void SimIo::unlink(const char* path, Op& op) {
  end_later(op.done, world_.latency(100 * kMicro, 10 * kMilli), [this, path]() -> int64_t {
    Status done = disk_.unlink(path);
    return done ? 0 : -done.error().code;
  });
}

void SimIo::remove_directory(const char* path, Op& op) {
  end_later(op.done, world_.latency(100 * kMicro, 10 * kMilli), [this, path]() -> int64_t {
    Status done = disk_.remove_directory(path);
    return done ? 0 : -done.error().code;
  });
}

bool SimIo::cached(FileFd file, uint64_t, size_t) {
  (void)disk_.file(file);
  return world_.chance(shape_.cached);
}

}  // namespace pelton::sim
