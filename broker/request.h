// Request: one request from its frame to its reply.
//
// Home shard: that of its connection. It may hop to other shards (the owner of a group, the catalog's
// writer); whoever holds it reads and writes it alone, and it comes home by itself when it is answered.
// Lifetime: from the frame's last byte until its reply has left (or the connection is gone); owned by
// its connection, which waits for requests that are away before it dies.
// Invariant: answered exactly once: respond, respond_nothing or close_connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "broker/metrics/request_metrics.h"
#include "broker/net/close_reason.h"
#include "broker/net/frame_hold.h"
#include "broker/reply.h"
#include "proto/api.h"
#include "proto/arena.h"
#include "proto/error_code.h"
#include "proto/frame.h"
#include "proto/wire.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/send_piece.h"
#include "reactor/shard.h"

namespace pelton::broker {

struct BrokerShard;
class Connection;

inline constexpr ShardId kNoShard = UINT16_MAX;

// What a request's connection is: constant for the connection's life, readable on any shard.
struct ConnectionInfo {
  std::string listener;        // name of the listener, "PLAINTEXT"
  bool controller = false;     // the listener is for what admin tools ask a controller
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
    return decoded(in.error()) ? message : nullptr;
  }

  // State of the handler that must outlive the call; destroyed with the request, on its home shard.
  template <class T, class... Args>
  T& make_state(Args&&... args) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    auto place = arena_.array<Aligned>((sizeof(T) + sizeof(Aligned) - 1) / sizeof(Aligned));
    T* object = new (place.data()) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>)
      at_end(object, 1, [](void* first, size_t) { static_cast<T*>(first)->~T(); });
    return *object;
  }
  // `count` default-constructed ones.
  template <class T>
  std::span<T> make_states(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (count == 0) return {};
    auto place = arena_.array<Aligned>((count * sizeof(T) + sizeof(Aligned) - 1) / sizeof(Aligned));
    T* objects = reinterpret_cast<T*>(place.data());
    std::uninitialized_default_construct_n(objects, count);
    at_end(objects, count,
           [](void* first, size_t n) { std::destroy_n(static_cast<T*>(first), n); });
    return {objects, count};
  }

  // --- answers; may be called on any shard, by whoever holds the request ---
  // The response's external records are reply().ranges(), indexed by their token; what pins their files is
  // state of the request (make_state), which goes when the reply has left.
  template <class T>
  void respond(const T& response) {
    respond_as(response, version_);
  }
  // An answer in another version than asked (ApiVersions answers an unknown version in version 0).
  template <class T>
  void respond_as(const T& response, int16_t version) {
    reply_.encode(response, static_cast<int16_t>(api_key_), version, correlation_id_);
    finish();
  }
  // acks=0: no bytes for this one.
  void respond_nothing();
  // The client broke the protocol: answers before it still leave, then the connection ends. `why` is a
  // literal, logged at a limited rate.
  void close_connection(const char* why, CloseReason reason = CloseReason::kBadRequest);

  // The request's work lies on one shard (kNoShard: on several), so a connection whose requests all go to
  // one other shard can move there. Call on the home shard.
  void works_on(ShardId shard);
  // The fetch session of the connection, which moves with it. Call on the home shard.
  void uses_session(int32_t session_id);

  // Called on the home shard, at any time until the request ends, when the client has closed its side:
  // an answer that waits for more should come now. Set on the home shard.
  using OnClientGone = void (*)(void* owner);
  void set_on_client_gone(void* owner, OnClientGone on_client_gone) {
    gone_owner_ = owner;
    on_client_gone_ = on_client_gone;
  }

  // Runs `next` on shard `to` with this request (in a later turn, also when `to` is this shard).
  void hop(ShardId to, Continue next);

  // What the handler keeps between hops and waits; points into the arena.
  void* state = nullptr;

  Reply& reply() { return reply_; }

  // --- for RequestPool and Connection, on the home shard ---
  explicit Request(ShardId home);
  ~Request();
  void begin(Connection& connection, FrameHold hold, MutableBytes frame, const proto::RequestHead& head);
  // Forgets the request: destroys handler state, releases the frame.
  void end();
  // With its answer and at home. Not read from state_: while the request is away another shard writes
  // that, and the message that brings the request home is still on its way.
  bool answered() const { return home_with_answer_; }
  void client_gone() {
    if (on_client_gone_ != nullptr) on_client_gone_(gone_owner_);
  }
  const char* close_reason() const { return close_reason_; }
  CloseReason close_category() const { return close_category_; }
  // Charges its shard's memory with what it takes now; does nothing while the request is away.
  void charge();
  SendReply& sending() { return sending_; }
  RequestTimes& times() { return times_; }

 private:
  // The decode limit is the arena's; what handlers build from a decoded request is bounded by it.
  static constexpr size_t kStateLimit = size_t{1} << 30;
  struct alignas(std::max_align_t) Aligned {
    std::byte bytes[alignof(std::max_align_t)];
  };
  using Destroy = void (*)(void* first, size_t count);
  struct StateEnd {
    void* first;
    size_t count;
    Destroy destroy;
    StateEnd* next;
  };

  void at_end(void* first, size_t count, Destroy destroy) {
    auto* end = arena_.make<StateEnd>();
    *end = {first, count, destroy, state_ends_};
    state_ends_ = end;
  }

  bool decoded(proto::DecodeError error);
  void finish();
  void arrived(Shard& here);  // message delivery: runs next_ or goes home
  void on_sent(SendEnd end);

  ShardId home_;
  Connection* connection_ = nullptr;
  FrameHold hold_;
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
  SendReply sending_;
  RequestTimes times_;
  const char* close_reason_ = nullptr;
  CloseReason close_category_ = CloseReason::kBadRequest;
  // Home alone:
  size_t charged_ = 0;
  bool away_ = false;            // another shard holds it
  bool little_memory_ = false;   // its decoding may take less than its size would allow
  void* gone_owner_ = nullptr;
  OnClientGone on_client_gone_ = nullptr;
  StateEnd* state_ends_ = nullptr;
  enum class State : uint8_t { kFree, kRunning, kAnswered } state_ = State::kFree;  // who holds it
  bool home_with_answer_ = false;  // home alone
};

}  // namespace pelton::broker
