#include "broker/net/connection_set.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <unistd.h>

#include "broker/broker_shard.h"
#include "broker/fetch/fetch_session.h"

namespace pelton::broker {
namespace {

constexpr uint64_t kAcceptRetryNs = 100'000'000;
// So many more than here a shard may have in any case and still be given another connection.
constexpr size_t kFewConnections = 8;
constexpr size_t kKeptBuffers = 8 * 1024 * 1024;
constexpr size_t kMostDecoded = 16 * 1024 * 1024;  // of one request
constexpr size_t kLeastLimit = 64 * 1024 * 1024;

// Memory of a shard's large frames, and as much for what is made of them. When queued.max.request.bytes does not
// set it: its share of an eighth of the machine's.
size_t memory_share(const BrokerConfig& config, size_t shards) {
  if (config.queued_max_request_bytes > 0) return static_cast<size_t>(config.queued_max_request_bytes) / shards;
  size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::max(memory / 8 / shards, kLeastLimit);
}

// Never less than one frame of the largest size takes, or it could never be read: buffers have sizes of
// powers of two, and while one grows its last half is there too.
size_t buffer_limit(const BrokerConfig& config, size_t shards) {
  size_t largest = std::bit_ceil(static_cast<size_t>(config.socket_request_max_bytes));
  return std::max(memory_share(config, shards), largest + largest / 2);
}

// Never less than the largest request needs, or nothing but small ones would ever be taken.
size_t request_memory_limit(const BrokerConfig& config, size_t shards) {
  size_t largest = std::min(static_cast<size_t>(config.socket_request_max_bytes), kMostDecoded);
  return std::max(memory_share(config, shards), largest);
}

}  // namespace

ConnectionSet::ConnectionSet(BrokerShard& here)
    : here_(here),
      buffers_(here.shard.loop(), buffer_limit(here.config, here.shard.count()), kKeptBuffers),
      read_buffers_(here.shard.loop(), buffers_.limit_bytes() / 2, kKeptBuffers),
      receive_pool_(here.shard.io(), buffers_),
      memory_(here.shard.loop(), request_memory_limit(here.config, here.shard.count())) {
  send_options_.buffers = &read_buffers_;
  if (here.config.send_path == "sendfile") send_options_.path = SendPath::kSendfile;
  if (here.config.send_path == "copy") send_options_.path = SendPath::kCopy;
}

ConnectionSet::~ConnectionSet() {
  CHECK(connections_.empty(), "connections outlive their set");
  while (!admissions_.empty()) delete &admissions_.front();
}

// ---------------------------------------------------------------- accepting

ConnectionSet::Acceptor::Acceptor(ConnectionSet& its_set, std::string name, SocketFd its_socket)
    : set(its_set),
      listener(std::move(name)),
      socket(its_socket),
      op(Completion::bind<&Acceptor::on_accept>(this)),
      retry(Timer::bind<&Acceptor::on_retry>(this)) {}

void ConnectionSet::Acceptor::on_accept(int32_t result) {
  if (result >= 0) return set.adopt(result, listener);
  if (stopped || result == -ECANCELED) return;
  Loop& loop = set.here_.shard.loop();
  uint64_t passed_over = 0;
  if (set.accept_errors_.allow(loop.now_ns(), passed_over))
    log_warn("Accepting on {} failed: {} ({} more)", listener, to_string(SysError{-result}),
             passed_over);
  // Out of descriptors, most likely: connections that wait are kept by the kernel meanwhile.
  if (!op.done.pending()) loop.timers().start(retry, loop.now_ns() + kAcceptRetryNs);
}

void ConnectionSet::Acceptor::on_retry() {
  if (!stopped && !op.done.pending()) set.here_.shard.io().accept(socket, op);
}

Status ConnectionSet::listen(const ListenerConfig& listener, uint16_t& bound_port) {
  Io& io = here_.shard.io();
  auto socket = io.listen(listener.bind, here_.config.socket_listen_backlog);
  if (!socket) return std::unexpected(socket.error());
  if (auto local = io.local_address(*socket)) bound_port = local->port;
  acceptors_.push_back(std::make_unique<Acceptor>(*this, listener.name, *socket));
  return {};
}

void ConnectionSet::start() {
  for (auto& acceptor : acceptors_) here_.shard.io().accept(acceptor->socket, acceptor->op);
}

void ConnectionSet::adopt(SocketFd socket, const std::string& listener) {
  Io& io = here_.shard.io();
  auto peer = io.peer_address(socket);
  if (here_.stopping || !peer) return io.close(socket);  // gone already
  ++here_.counters.connections_accepted;
  auto* admission = new Admission(*this, here_.shard.id());
  admissions_.push_back(*admission);
  admission->socket = socket;
  admission->listener = listener;
  admission->address = plain_address(peer->host);
  admission->ask(here_.shard);
}

void ConnectionSet::on_decided(Admission& admission) {
  if (admission.state == Admission::State::kLeft) return delete &admission;
  Io& io = here_.shard.io();
  SocketFd socket = std::exchange(admission.socket, -1);
  if (admission.state == Admission::State::kRefused) {
    ++here_.counters.connections_closed[static_cast<size_t>(admission.reason)];
    log_refusal(admission);
    io.close(socket);
    return delete &admission;
  }
  auto client = io.peer_address(socket);
  auto local = io.local_address(socket);
  if (here_.stopping || !client || !local) {
    CloseReason reason = here_.stopping ? CloseReason::kStopping : CloseReason::kClient;
    ++here_.counters.connections_closed[static_cast<size_t>(reason)];
    io.close(socket);
    return admission.leave(here_.shard);
  }
  const BrokerConfig& config = here_.config;
  io.set_buffer_sizes(socket, std::max(config.socket_send_buffer_bytes, 0),
                      std::max(config.socket_receive_buffer_bytes, 0));
  start_connection(socket, describe(admission, *client, *local), admission, true);
}

void ConnectionSet::log_refusal(const Admission& admission) {
  uint64_t passed_over = 0;
  if (admission.reason == CloseReason::kStopping || !refusals_.allow(here_.shard.loop().now_ns(), passed_over))
    return;
  log_warn("Refusing a connection of {} on {}: {} ({} more)", admission.address, admission.listener,
           admission.reason == CloseReason::kMaxPerAddress
               ? "its address has as many as max.connections.per.ip allows"
               : "too many wait because of max.connections or max.connection.creation.rate",
           passed_over);
}

ConnectionInfo ConnectionSet::describe(const Admission& admission, const SocketAddress& client,
                                       const SocketAddress& local) {
  ConnectionInfo info;
  info.listener = admission.listener;
  info.controller =
      std::ranges::count(here_.config.controller_listeners, admission.listener, &ListenerConfig::name) > 0;
  info.client = client;
  info.dialled = local;
  info.id = (uint64_t{here_.shard.id()} << 48) | ++next_id_;
  return info;
}

void ConnectionSet::start_connection(SocketFd socket, ConnectionInfo info, Admission& admission, bool is_new) {
  auto* connection = new Connection(*this, here_, socket, std::move(info), admission, is_new);
  connections_.push_back(*connection);
  ++open_;
  here_.open_connections.store(open_, std::memory_order_relaxed);
  connection->start();
}

std::vector<Connection*> ConnectionSet::oldest(size_t count, bool controllers,
                                               std::string_view protected_listener) {
  std::vector<Connection*> all;
  for (Connection& each : connections_) {
    if (!each.ends() && each.info().controller == controllers && each.info().listener != protected_listener)
      all.push_back(&each);
  }
  count = std::min(count, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<ptrdiff_t>(count), {}, &Connection::last_active_ns);
  all.resize(count);
  return all;
}

std::vector<uint64_t> ConnectionSet::least_used(size_t count, bool controllers,
                                                std::string_view protected_listener) {
  std::vector<uint64_t> used_ns;
  for (Connection* each : oldest(count, controllers, protected_listener)) used_ns.push_back(each->last_active_ns());
  return used_ns;
}

size_t ConnectionSet::close_least_used(size_t count, bool controllers, std::string_view protected_listener) {
  std::vector<Connection*> chosen = oldest(count, controllers, protected_listener);
  for (Connection* each : chosen) each->close(CloseReason::kMaxConnections);
  return chosen.size();
}

// ---------------------------------------------------------------- moving

struct ConnectionSet::HandOver {
  SocketFd socket;
  ConnectionInfo info;
  std::shared_ptr<FetchSession> session;
  Admission& admission;
  Message message = Message::bind<&HandOver::arrived>(this);

  void arrived(Shard& there) {
    auto& broker = there.context<BrokerShard>();
    if (broker.stopping) {
      ++broker.counters.connections_closed[static_cast<size_t>(CloseReason::kStopping)];
      there.io().close(socket);
      admission.leave(there);
    } else {
      broker.sessions->put(std::move(session), there.loop().now_ns());
      ++broker.counters.connections_moved_here;
      broker.connections->start_connection(socket, std::move(info), admission, false);
    }
    delete this;
  }
};

bool ConnectionSet::may_move_to(ShardId shard) const {
  const BrokerShard& there = here_.peer(shard);
  return there.open_connections.load(std::memory_order_relaxed) <= 2 * open_ + kFewConnections;
}

void ConnectionSet::hand_over(ShardId to, SocketFd socket, const ConnectionInfo& info,
                              int32_t session_id, Admission& admission) {
  auto* travelling = new HandOver{socket, info, here_.sessions->take(session_id), admission};
  here_.shard.send(to, travelling->message);
}

// ---------------------------------------------------------------- ending

void ConnectionSet::stop_accepting() {
  for (auto& acceptor : acceptors_) {
    acceptor->stopped = true;
    here_.shard.loop().timers().cancel(acceptor->retry);
    if (acceptor->op.done.pending()) here_.shard.io().stop_accept(acceptor->op);
    here_.shard.io().close(acceptor->socket);
  }
}

void ConnectionSet::drain() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    Connection& connection = *each++;
    connection.drain();
  }
}

void ConnectionSet::close_all() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    Connection& connection = *each++;
    connection.close(CloseReason::kStopping);
  }
}

void ConnectionSet::remove(Connection& connection) {
  --open_;
  here_.open_connections.store(open_, std::memory_order_relaxed);
  delete &connection;
}

// ---------------------------------------------------------------- requests

Request& ConnectionSet::take_request() {
  if (free_requests_.empty()) return *new Request(here_.shard.id());
  Request* request = free_requests_.back().release();
  free_requests_.pop_back();
  return *request;
}

void ConnectionSet::give_back(Request& request) {
  request.end();
  std::unique_ptr<Request> free(&request);
  if (free_requests_.size() < kKeptRequests) free_requests_.push_back(std::move(free));
}

}  // namespace pelton::broker
