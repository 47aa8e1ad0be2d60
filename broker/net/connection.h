// Connection: one client's socket: frames in, requests under way, answers out in request order.
//
// Owner shard: the one that adopted the socket. Lifetime: made by ConnectionSet::adopt; ends itself when
// the socket is closed and no request, receive or send of it is under way. The descriptor does not wait
// for requests.
// A connection whose requests all go to one other shard moves there, when nothing is in flight: a request
// that has to hop costs two wake-ups more.
// Invariants: requests in flight, and bytes of answers that the client has not read, are bounded (reading
// pauses at the bound); answers leave in the order of requests though requests overlap; after a bad frame or a
// close only answers before it leave. A client that begins something, connecting or a request, has a
// deadline for it; one that does nothing is closed in the end, and so is one that reads nothing.
#pragma once

#include <cstdint>

#include "broker/net/frame_reader.h"
#include "broker/request.h"
#include "reactor/socket.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker {

class ConnectionSet;
struct Admission;
struct ConnectionTag;

class Connection final : public FrameSink, public ListHook<ConnectionTag> {
 public:
  // is_new: not moved here from another shard.
  Connection(ConnectionSet& set, BrokerShard& here, SocketFd socket, ConnectionInfo info,
             Admission& admission, bool is_new);
  ~Connection() override;

  void start();
  // Closes at once: answers under way are dropped. `why` is for the log, nullptr = say nothing.
  void close(CloseReason reason, const char* why = nullptr);
  // Stops reading; closes when what is in flight is answered and sent (shutdown).
  void drain();

  const ConnectionInfo& info() const { return info_; }
  BrokerShard& broker_shard() { return here_; }
  Admission& admission() { return admission_; }
  uint64_t last_active_ns() const { return last_active_ns_; }
  bool ends() const { return ending_; }
  int requests() const { return in_flight_count_ + sending_count_; }
  bool reading_paused() const { return reader_.paused(); }

  // For Request: see works_on and uses_session.
  void note_target(ShardId shard);
  void note_session(int32_t session_id) { session_id_ = session_id; }
  // For Request: the answer is ready (or there is none), and it has left (or will not).
  void on_answered(Request& request);
  void on_sent(Request& request, SendEnd end);

  // --- FrameSink ---
  void on_frame(const FrameHold& hold, MutableBytes frame) override;
  void on_part_of_frame() override;
  void on_read_end(ReadEnd end) override;

 private:
  void flush();                 // answered requests at the head of the line -> the socket
  bool send(Request& request);  // false: it has no answer, or the connection is closing
  void push_pieces(Request& request);
  void count_and_give_back(Request& request);
  void end_after_sending(CloseReason reason, const char* why = nullptr);
  void note_reason(CloseReason reason);
  void tell_client_gone();
  uint64_t most_unsent() const;
  void update_reading();
  void on_memory(int32_t);
  void start_deadline(int32_t ms);
  void on_deadline();
  void log_end(const char* why);
  void on_idle_timer();
  void end_if_done();
  void on_end(int32_t result);
  void give_up_socket();
  void move_if_ready();

  ConnectionSet& set_;
  BrokerShard& here_;
  ConnectionInfo info_;
  SocketFd socket_;
  Admission& admission_;
  FrameReader reader_;
  SendQueue sender_;
  IntrusiveList<Request, InFlightTag> in_flight_;  // in request order; answered or not
  IntrusiveList<Request, InFlightTag> sending_;
  int in_flight_count_ = 0;
  int sending_count_ = 0;
  uint64_t unsent_bytes_ = 0;     // in memory, of answers that have not left
  TurnEnd flush_;
  Completion end_;
  Timer idle_timer_;
  uint64_t last_active_ns_ = 0;
  uint64_t sent_when_looked_ = 0;    // bytes, when the idle timer was last due
  Timer deadline_;                   // of the first request, or of the one whose first bytes are here
  uint64_t received_at_deadline_start_ = 0;
  BufferWaiter memory_waiter_;
  bool has_request_ = false;         // the first one is here
  CloseReason reason_ = CloseReason::kClient;
  bool has_reason_ = false;
  bool ending_ = false;          // no more requests are read; closes when all is answered and sent
  bool cut_ = false;             // after a broken request: answers to later ones are dropped
  bool half_closed_ = false;     // the peer sends no more
  bool closed_ = false;          // the socket is shut down
  bool socket_closed_ = false;   // and its descriptor is gone
  bool moved_ = false;           // the socket is another shard's now
  // Moving to the shard that all its requests go to.
  ShardId target_ = kNoShard;    // of the last request
  int target_streak_ = 0;
  bool moving_ = false;          // reading pauses until nothing is in flight
  int32_t session_id_ = 0;
};

}  // namespace pelton::broker
