#include "broker/net/connection.h"

#include <algorithm>
#include <utility>

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/net/connection_set.h"
#include "proto/frame.h"

namespace pelton::broker {
namespace {

// A request that is so much further when its deadline comes gets another one.
constexpr uint64_t kProgressBytes = 1024 * 1024;
// A client that sends requests and does not read answers holds at most this many.
constexpr int kMaxSending = 64;
// Requests in a row for one other shard, before the connection moves to it.
constexpr int kMoveAfter = 32;
// A client that closed its half still gets the answers that come within this time.
constexpr uint64_t kHalfClosedNs = 30'000'000'000;

uint64_t ns(int32_t ms) { return static_cast<uint64_t>(ms) * 1'000'000; }

}  // namespace

Connection::Connection(ConnectionSet& set, BrokerShard& here, SocketFd socket, ConnectionInfo info,
                       Admission& admission, bool is_new)
    : set_(set),
      here_(here),
      info_(std::move(info)),
      socket_(socket),
      admission_(admission),
      reader_(here.shard.io(), socket, set.receive_pool(), *this,
              static_cast<uint32_t>(here.config.socket_request_max_bytes)),
      sender_(here.shard.loop(), socket, set.send_options()),
      flush_(TurnEnd::bind<&Connection::flush>(this, kPhaseSend)),
      end_(Completion::bind<&Connection::on_end>(this)),
      idle_timer_(Timer::bind<&Connection::on_idle_timer>(this)),
      deadline_(Timer::bind<&Connection::on_deadline>(this)),
      memory_waiter_(Completion::bind<&Connection::on_memory>(this)),
      has_request_(!is_new) {}

Connection::~Connection() { CHECK(in_flight_.empty() && sending_.empty() && reader_.idle()); }

void Connection::start() {
  last_active_ns_ = here_.shard.loop().now_ns();
  if (here_.config.connections_max_idle_ms > 0)
    here_.shard.loop().timers().start(idle_timer_,
                                      last_active_ns_ + ns(here_.config.connections_max_idle_ms));
  if (!has_request_) start_deadline(here_.config.connection_setup_timeout_ms);
  reader_.start();
}

// ---------------------------------------------------------------- requests

void Connection::on_frame(const FrameHold& hold, MutableBytes frame) {
  last_active_ns_ = here_.shard.loop().now_ns();
  has_request_ = true;
  if (deadline_.active()) here_.shard.loop().timers().cancel(deadline_);
  here_.counters.bytes_in += proto::kFrameSizeBytes + frame.size();
  auto head = proto::read_request_head(frame);
  if (!head) return close(CloseReason::kBadRequest, "not a request of a Kafka client");
  const ApiHandler* handler = find_handler(head->api_key, info_.controller);
  bool api_versions = head->api_key == static_cast<int16_t>(proto::ApiKey::kApiVersions);
  if (handler == nullptr) return close(CloseReason::kBadRequest, "a request that this broker does not know");
  // An unknown version of ApiVersions is answered (in version 0): it is how clients find out.
  if (!api_versions && (head->api_version < handler->min_version ||
                        head->api_version > handler->max_version))
    return close(CloseReason::kBadRequest, "an unsupported version of a request");

  Request& request = set_.take_request();
  request.begin(*this, hold, frame, *head);
  in_flight_.push_back(request);
  ++in_flight_count_;
  ++here_.counters.requests;
  ++here_.requests_in_flight;
  update_reading();
  Io& io = here_.shard.io();
  request.times().begun = io.now_ns();
  handler->handle(here_, request);
  request.times().returned = io.now_ns();
  request.charge();
}

void Connection::on_part_of_frame() {
  last_active_ns_ = here_.shard.loop().now_ns();
  if (has_request_ && !deadline_.active()) start_deadline(here_.config.request_receive_timeout_ms);
}

void Connection::on_answered(Request& request) {
  request.charge();
  unsent_bytes_ += request.reply().bytes().size();
  here_.unsent_bytes += request.reply().bytes().size();
  if (unsent_bytes_ >= most_unsent()) reader_.pause();  // flush() looks whether it may go on
  // Answers leave in request order; only the first of the line can set it moving.
  if (&request == &in_flight_.front()) here_.shard.loop().at_turn_end(flush_);
}

void Connection::flush() {
  while (!in_flight_.empty() && in_flight_.front().answered()) {
    Request& request = in_flight_.front();
    in_flight_.pop_front();
    --in_flight_count_;
    if (!send(request)) count_and_give_back(request);
  }
  if (!closed_) sender_.flush();
  update_reading();
  move_if_ready();
  end_if_done();
}

bool Connection::send(Request& request) {
  if (closed_ || cut_) return false;
  if (request.close_reason() != nullptr) {
    cut_ = true;
    end_after_sending(request.close_category(), request.close_reason());
    return false;
  }
  if (request.reply().empty()) return false;
  sending_.push_back(request);
  ++sending_count_;
  request.times().queued = here_.shard.io().now_ns();
  here_.counters.bytes_out += request.reply().total_bytes();
  push_pieces(request);
  return true;
}

void Connection::count_and_give_back(Request& request) {
  --here_.requests_in_flight;
  unsent_bytes_ -= request.reply().bytes().size();
  here_.unsent_bytes -= request.reply().bytes().size();
  uint64_t now_ns = here_.shard.io().now_ns();
  // Without an answer (acks=0, or the connection ends) nothing was sent.
  if (request.times().queued == 0) request.times().queued = now_ns;
  here_.request_metrics.record(request.api_key(), request.times(), now_ns);
  set_.give_back(request);
}

void Connection::push_pieces(Request& request) {
  Reply& reply = request.reply();
  Bytes bytes = reply.bytes();
  size_t at = 0;
  for (const auto& hole : reply.holes()) {
    sender_.push(bytes.subspan(at, hole.at - at));
    at = hole.at;
    const ReplyRange& range = reply.ranges()[hole.token];
    here_.counters.bytes_from_files += range.length;
    sender_.push(range.file, range.position, range.length);
  }
  sender_.push(bytes.subspan(at));
  sender_.end_reply(request.sending());
}

void Connection::on_sent(Request& request, SendEnd end) {
  last_active_ns_ = here_.shard.loop().now_ns();
  request.unlink();
  --sending_count_;
  count_and_give_back(request);
  if (closed_) return end_if_done();
  if (end == SendEnd::kDiskFailed) return close(CloseReason::kDiskFailed, "its data could not be read from the disk");
  if (end != SendEnd::kSent) return close(CloseReason::kSendFailed);
  update_reading();
  move_if_ready();
  end_if_done();
}

uint64_t Connection::most_unsent() const {
  return static_cast<uint64_t>(here_.config.max_unsent_bytes_per_connection);
}

void Connection::update_reading() {
  if (ending_ || closed_) return;
  bool full = moving_ || in_flight_count_ >= here_.config.max_in_flight_per_connection ||
              sending_count_ >= kMaxSending || sender_.queued_bytes() >= most_unsent() ||
              unsent_bytes_ >= most_unsent();
  // Who has nothing under way is always served: what it waits for would not free the memory.
  if (set_.memory().is_short() && requests() > 0) {
    full = true;
    if (!memory_waiter_.is_linked() && !memory_waiter_.retry.pending()) set_.memory().wait(memory_waiter_);
  }
  if (full && !reader_.paused()) reader_.pause();
  if (!full && reader_.paused()) reader_.resume();
}

void Connection::on_memory(int32_t) { update_reading(); }

// ---------------------------------------------------------------- deadlines

void Connection::start_deadline(int32_t ms) {
  if (ms <= 0) return;
  received_at_deadline_start_ = reader_.bytes_received();
  here_.shard.loop().timers().start(deadline_, here_.shard.loop().now_ns() + ns(ms));
}

void Connection::on_deadline() {
  if (ending_ || closed_) return;
  uint64_t received = reader_.bytes_received() - received_at_deadline_start_;
  // It waited for memory all the time: what it holds already may be what others wait for.
  if (!reader_.paused() && reader_.waits_for_buffer() && reader_.mid_frame() && received == 0)
    return close(CloseReason::kMemory, "there was no memory for the rest of a large request");
  bool not_its_fault = reader_.paused() || reader_.waits_for_buffer();
  if (not_its_fault || received >= kProgressBytes)
    return start_deadline(has_request_ ? here_.config.request_receive_timeout_ms
                                       : here_.config.connection_setup_timeout_ms);
  if (!has_request_) return close(CloseReason::kSetupTimeout);
  close(CloseReason::kReceiveTimeout, "a request that did not come to its end in time");
}

// ---------------------------------------------------------------- moving

void Connection::note_target(ShardId shard) {
  if (shard != target_ || shard == here_.shard.id()) {
    target_ = shard;
    target_streak_ = 0;
    return;
  }
  if (shard == kNoShard || ++target_streak_ < kMoveAfter || moving_ || ending_) return;
  moving_ = set_.may_move_to(shard);
  if (moving_) reader_.pause();
  target_streak_ = 0;
}

void Connection::move_if_ready() {
  if (!moving_ || ending_ || !in_flight_.empty() || !sending_.empty() || !sender_.idle()) return;
  moving_ = false;
  if (!reader_.can_hand_over()) return update_reading();  // more has come already: another time
  ending_ = closed_ = moved_ = true;
  reader_.stop();
  set_.hand_over(target_, socket_, info_, session_id_, admission_);
}

// ---------------------------------------------------------------- ending

void Connection::on_read_end(ReadEnd end) {
  switch (end) {
    case ReadEnd::kBadFrameSize:
      return close(CloseReason::kBadRequest, "a frame size outside the limits: not a Kafka client?");
    case ReadEnd::kError:
      return close(CloseReason::kClient);
    case ReadEnd::kPeerFinished:
      half_closed_ = true;
      here_.shard.loop().timers().start(idle_timer_, here_.shard.loop().now_ns() + kHalfClosedNs);
      tell_client_gone();
      return end_after_sending(CloseReason::kClient);
  }
}

void Connection::log_end(const char* why) {
  uint64_t passed_over = 0;
  if (why == nullptr ||
      !set_.protocol_errors().allow(here_.shard.loop().now_ns(), passed_over))
    return;
  log_warn("Closing the connection of {} on {}: {}{}", info_.client.to_string(), info_.listener, why,
           passed_over == 0 ? "" : fmt::format(" ({} more like it)", passed_over));
}

void Connection::note_reason(CloseReason reason) {
  if (!has_reason_) reason_ = reason;
  has_reason_ = true;
}

void Connection::end_after_sending(CloseReason reason, const char* why) {
  note_reason(reason);
  log_end(why);
  ending_ = true;
  reader_.stop();
  here_.shard.loop().at_turn_end(flush_);
}

// What waits for more need not: nobody may be there to read it.
void Connection::tell_client_gone() {
  for (Request& request : in_flight_) request.client_gone();
}

void Connection::drain() { end_after_sending(CloseReason::kStopping); }

void Connection::close(CloseReason reason, const char* why) {
  if (closed_) return;
  note_reason(reason);
  log_end(why);
  closed_ = ending_ = true;
  reader_.stop();
  here_.shard.io().shutdown(socket_);
  sender_.abort();
  tell_client_gone();
  here_.shard.loop().at_turn_end(flush_);
}

// The socket goes as soon as nothing uses it; the connection waits for requests that are still away,
// which may be long (a group that rebalances).
void Connection::end_if_done() {
  if (!ending_ || !sending_.empty() || !sender_.idle()) return;
  if (!closed_) {
    if (!in_flight_.empty()) return;
    closed_ = true;
    here_.shard.io().shutdown(socket_);
  }
  // The shutdown ends a receive that is still pending; its completion comes with a later turn.
  if (!end_.pending()) here_.shard.loop().post(end_);
}

void Connection::on_end(int32_t) {
  memory_waiter_.unlink();
  if (!reader_.idle() || memory_waiter_.retry.pending()) return here_.shard.loop().post(end_);
  here_.shard.loop().timers().cancel(idle_timer_);
  here_.shard.loop().timers().cancel(deadline_);
  if (!moved_ && !socket_closed_) give_up_socket();
  socket_closed_ = true;
  if (in_flight_.empty()) set_.remove(*this);  // else the last answer comes by here again
}

// Its place among the connections is free from now on.
void Connection::give_up_socket() {
  ++here_.counters.connections_closed[static_cast<size_t>(reason_)];
  here_.shard.io().close(socket_);
  admission_.leave(here_.shard);
}

void Connection::on_idle_timer() {
  if (half_closed_) return close(CloseReason::kClient);
  Loop& loop = here_.shard.loop();
  // A client that reads a large answer slowly is not idle; one that reads nothing is.
  uint64_t sent = sender_.counters().memory_bytes + sender_.counters().sendfile_bytes;
  if (std::exchange(sent_when_looked_, sent) != sent && sending_count_ > 0) last_active_ns_ = loop.now_ns();
  uint64_t until = last_active_ns_ + ns(here_.config.connections_max_idle_ms);
  if (until > loop.now_ns() || in_flight_count_ > 0)
    return loop.timers().start(idle_timer_, std::max(until, loop.now_ns() + ns(1'000)));
  close(CloseReason::kIdle);
}

}  // namespace pelton::broker
