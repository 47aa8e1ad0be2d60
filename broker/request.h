// Request: one request from its frame to its reply.
//
// Home shard: that of its connection. It may hop to other shards (the owner of a group, the catalog's
// writer); whoever holds it reads and writes it alone, and it comes home by itself when it is answered.
// Lifetime: from the frame's last byte until its reply has left (or the connection is gone); owned by
// its connection, which waits for requests that are away before it dies.
// Invariant: answered exactly once: respond, respond_nothing or close_connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/reply.h"
#include "proto/api.h"
#include "proto/arena.h"
#include "proto/error_code.h"
#include "proto/wire.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/shard.h"

namespace pelton::broker {

struct BrokerShard;
class Connection;

// What a request's connection is: constant for the connection's life, readable on any shard.
struct ConnectionInfo {
  std::string listener;        // name of the listener, "PLAINTEXT"
  SocketAddress client;        // the peer
  SocketAddress dialled;       // the local address the client reached: advertised by default
  std::string principal = "User:ANONYMOUS";
  uint64_t id = 0;
};

struct InFlightTag;

class Request : public ListHook<InFlightTag> {
 public:
  using Continue = void (*)(BrokerShard& here, Request& request);

  // --- what was asked; views live as long as the request ---
  proto::ApiKey api_key() const { return api_key_; }
  int16_t version() const { return version_; }
  int32_t correlation_id() const { return correlation_id_; }
  std::string_view client_id() const { return client_id_; }
  MutableBytes body() const { return body_; }
  const ConnectionInfo& connection() const { return *info_; }
  proto::Arena& arena() { return arena_; }
  ShardId home() const { return home_; }

  // Decodes the body as T (in the arena). nullptr: malformed; the connection is being closed and the
  // request needs no answer.
  template <class T>
  T* decode() {
    T* message = arena_.make<T>();
    proto::WireReader in(body_, arena_);
    message->decode(in, version_);
    if (in.ok()) return message;
    close_connection("malformed request");
    return nullptr;
  }

  // --- answers; may be called on any shard, by whoever holds the request ---
  // `slices` belong to the response's external records, indexed by their token; their pins are released
  // on the shard that owns them by whoever made them (see Reply::on_sent).
  template <class T>
  void respond(const T& response) {
    reply_.encode(response, proto::response_header_version(api_key_, version_), correlation_id_,
                  version_);
    finish();
  }
  // acks=0: no bytes for this one.
  void respond_nothing();
  // The client broke the protocol: answers before it still leave, then the connection ends. `why` is a
  // literal, logged at a limited rate.
  void close_connection(const char* why);

  // Runs `next` on shard `to` with this request (in a later turn, also when `to` is this shard).
  void hop(ShardId to, Continue next);

  // State of the handler that holds the request, in the arena; for hops and waits.
  void* state = nullptr;

  Reply& reply() { return reply_; }

  // --- for Connection ---
  Request(ShardId home, Connection& connection);
  ~Request();

 private:
  friend class Connection;
  void finish();
  void arrived(Shard& here);  // message delivery: runs next_ or goes home

  ShardId home_;
  Connection& connection_;
  const ConnectionInfo* info_ = nullptr;
  proto::ApiKey api_key_{};
  int16_t version_ = 0;
  int32_t correlation_id_ = 0;
  std::string_view client_id_;
  MutableBytes body_;
  proto::Arena arena_;
  Reply reply_;
  BrokerShard* here_ = nullptr;  // the shard that holds the request now
  Continue next_ = nullptr;
  Message message_;
  const char* close_reason_ = nullptr;
  enum class State : uint8_t { kRunning, kAnswered } state_ = State::kRunning;
};

}  // namespace pelton::broker
