// ConnectionSet: one shard's listeners and connections, and what connections share: requests kept for
// reuse, the receive pool, log limits.
//
// Owner shard: one. Lifetime: from start-up until its shard's loop has stopped; all connections are gone
// by then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/config/broker_config.h"
#include "broker/net/admission.h"
#include "broker/net/connection.h"
#include "broker/net/receive_pool.h"
#include "broker/net/request_memory.h"
#include "reactor/base/log.h"

namespace pelton::broker {

struct BrokerShard;

class ConnectionSet {
 public:
  explicit ConnectionSet(BrokerShard& here);
  ~ConnectionSet();

  // Opens the shard's socket for one listener. bound_port: the port in use when the config says 0.
  Status listen(const ListenerConfig& listener, uint16_t& bound_port);
  // Accepts from now on.
  void start();
  // Takes over a connected socket, if the limits let it in.
  void adopt(SocketFd socket, const std::string& listener);
  // For Admission: what became of it.
  void on_decided(Admission& admission);
  // When the `count` connections that were used least recently were used, the oldest first. Not those of
  // `protected_listener`, and not those that end already.
  std::vector<uint64_t> least_used(size_t count, bool controllers, std::string_view protected_listener);
  // Closes them; how many.
  size_t close_least_used(size_t count, bool controllers, std::string_view protected_listener);
  // Whether another shard should take a connection of this one: not when it has far more already.
  bool may_move_to(ShardId shard) const;
  // Gives a connected socket, with its fetch session, to another shard.
  void hand_over(ShardId to, SocketFd socket, const ConnectionInfo& info, int32_t session_id,
                 Admission& admission);

  // --- shutdown, in this order ---
  void stop_accepting();
  void drain();                 // every connection closes when it has nothing in flight
  void close_all();
  size_t open_connections() const { return open_; }
  // Of frames, and of file ranges that are read to be sent.
  size_t buffer_bytes() const { return buffers_.used_bytes() + read_buffers_.used_bytes(); }
  size_t buffer_limit_bytes() const { return buffers_.limit_bytes() + read_buffers_.limit_bytes(); }
  const RequestMemory& memory() const { return memory_; }

  // --- for Connection ---
  Request& take_request();
  void give_back(Request& request);
  void remove(Connection& connection);  // destroys it
  ReceivePool& receive_pool() { return receive_pool_; }
  RequestMemory& memory() { return memory_; }
  LogLimiter& protocol_errors() { return protocol_errors_; }
  const SendOptions& send_options() const { return send_options_; }

 private:
  static constexpr size_t kKeptRequests = 64;

  struct Acceptor {
    Acceptor(ConnectionSet& set, std::string name, SocketFd socket);
    void on_accept(int32_t result);
    void on_retry();

    ConnectionSet& set;
    std::string listener;
    SocketFd socket;
    AcceptOp op;
    Timer retry;
    bool stopped = false;
  };

  struct HandOver;  // a socket on its way

  void log_refusal(const Admission& admission);
  void start_connection(SocketFd socket, ConnectionInfo info, Admission& admission, bool is_new);
  std::vector<Connection*> oldest(size_t count, bool controllers, std::string_view protected_listener);
  ConnectionInfo describe(const Admission& admission, const SocketAddress& client, const SocketAddress& local);

  BrokerShard& here_;
  BufferPool buffers_;           // frames beyond a receive buffer
  BufferPool read_buffers_;      // file ranges read to be sent, which frames must not keep from being sent
  ReceivePool receive_pool_;
  RequestMemory memory_;
  SendOptions send_options_;
  LogLimiter protocol_errors_;
  LogLimiter accept_errors_;
  LogLimiter refusals_;
  // Of the sockets accepted here, until their connections are gone, wherever those are.
  IntrusiveList<Admission, OwnedTag> admissions_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  IntrusiveList<Connection, ConnectionTag> connections_;
  size_t open_ = 0;
  uint64_t next_id_ = 0;
  std::vector<std::unique_ptr<Request>> free_requests_;
};

}  // namespace pelton::broker
