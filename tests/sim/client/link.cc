#include "tests/sim/client/link.h"

#include <utility>

#include <fmt/format.h>

namespace pelton::sim {
namespace {

constexpr uint32_t kMaxAnswerBytes = 64 << 20;
constexpr size_t kReceiveBytes = 16 * 1024;

}  // namespace

Link::Link(World& world, SimNetwork& network, uint16_t port, std::string client_id,
           std::function<void()> on_lost, std::function<void(const std::string&)> bug)
    : world_(world),
      network_(network),
      port_(port),
      client_id_(std::move(client_id)),
      on_lost_(std::move(on_lost)),
      bug_(std::move(bug)) {}

void Link::connect() {
  abort();
  connection_ = network_.connect(port_);
  connection_->watch(Side::kClient, [this] { changed(); });
}

void Link::abort() {
  ++generation_;
  receive_scheduled_ = false;
  pending_.clear();
  out_.clear();
  in_.clear();
  if (!connection_) return;
  connection_->unwatch(Side::kClient);
  connection_->reset(Side::kClient);
  connection_.reset();
}

void Link::lose() {
  abort();
  on_lost_();
}

void Link::finish_sending() {
  if (connection_ && out_.empty()) connection_->finish(Side::kClient);
}

void Link::submit(std::string frame, int16_t key, int16_t version, Handler handler,
                  uint64_t timeout_ns) {
  if (!connection_) return;
  out_ += frame;
  if (handler) {
    pending_.push_back({key, version, correlation_, std::move(handler)});
    world_.after(timeout_ns, [this, generation = generation_, correlation = correlation_] {
      if (generation != generation_ || pending_.empty()) return;
      if (pending_.front().correlation > correlation) return;
      world_.trace("client timeout", static_cast<uint64_t>(pending_.front().api_key));
      lose();
    });
  }
  pump();
}

void Link::pump() {
  while (connection_ && !out_.empty()) {
    iovec piece{out_.data(), out_.size()};
    int64_t sent = connection_->send(Side::kClient, &piece, 1);
    if (sent <= 0) return;  // a broken connection shows when receiving
    out_.erase(0, static_cast<size_t>(sent));
  }
}

void Link::changed() {
  pump();
  if (receive_scheduled_ || !connection_ || !connection_->readable(Side::kClient)) return;
  receive_scheduled_ = true;
  // Now and then a client that is busy with something else.
  uint64_t delay = world_.chance(0.01) ? world_.below(150 * kMilli) : world_.below(50 * kMicro);
  world_.after(delay, [this, generation = generation_] {
    if (generation != generation_) return;
    receive_scheduled_ = false;
    receive();
  });
}

void Link::receive() {
  uint8_t buffer[kReceiveBytes];
  uint64_t generation = generation_;
  int64_t got = connection_->recv(Side::kClient, buffer);
  if (got == -EAGAIN) return;
  if (got <= 0) return lose();
  in_.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(got));
  take_frames();
  if (generation == generation_) changed();
}

void Link::take_frames() {
  uint64_t generation = generation_;
  while (generation == generation_) {
    Bytes stream = as_bytes(in_);
    proto::NextFrame next = proto::next_frame(stream, proto::kMinResponseBytes, kMaxAnswerBytes);
    if (next.state == proto::NextFrame::State::kBad) return bug_("an answer of impossible size");
    if (next.state != proto::NextFrame::State::kReady) return;
    std::string frame(as_text(next.body));  // the handler may end the connection
    in_.erase(0, next.consumed());
    take_frame(as_bytes(frame));
  }
}

void Link::take_frame(Bytes frame) {
  if (pending_.empty()) return bug_("an answer to no request");
  Pending call = std::move(pending_.front());
  pending_.pop_front();
  proto::Arena arena(proto::Arena::limit_for(frame.size()) + (1 << 20));
  proto::WireReader in(frame, arena);
  int32_t correlation = proto::read_response_header(in, call.api_key, call.version);
  if (!in.ok() || correlation != call.correlation)
    return bug_(fmt::format("api {}: the answer of request {} where that of {} is due", call.api_key,
                            correlation, call.correlation));
  call.handler(in);
}

}  // namespace pelton::sim
