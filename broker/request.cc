#include "broker/request.h"

#include "broker/broker_shard.h"
#include "broker/net/connection.h"
#include "broker/net/connection_set.h"

namespace pelton::broker {
namespace {

// Frames up to this size are copied, so that a request that waits does not keep a receive buffer.
constexpr size_t kCopiedFrame = 2 * 1024;
constexpr size_t kFirstArenaLimit = 64 * 1024;
// What decoding may take at most: hundreds of thousands of topics or partitions. What handlers make of them is
// several times as much.
constexpr size_t kMostDecoded = 16 * 1024 * 1024;

}  // namespace

Request::Request(ShardId home)
    : home_(home),
      arena_(kFirstArenaLimit),
      message_(Message::bind<&Request::arrived>(this)),
      sending_(SendReply::bind<&Request::on_sent>(this)) {}

Request::~Request() { CHECK(state_ == State::kFree); }

void Request::begin(Connection& connection, FrameHold hold, MutableBytes frame,
                    const proto::RequestHead& head) {
  CHECK(state_ == State::kFree);
  state_ = State::kRunning;
  times_ = {};
  home_with_answer_ = false;
  connection_ = &connection;
  info_ = &connection.info();
  here_ = &connection.broker_shard();
  api_key_ = static_cast<proto::ApiKey>(head.api_key);
  version_ = head.api_version;
  correlation_id_ = head.correlation_id;
  close_reason_ = nullptr;
  on_client_gone_ = nullptr;
  state = nullptr;
  size_t decode_limit = std::min(proto::Arena::limit_for(frame.size()), kMostDecoded);
  size_t left = here_->connections->memory().left();
  little_memory_ = left < decode_limit;
  arena_.reset(std::min(left, decode_limit) + 2 * kCopiedFrame);
  std::string_view client = head.client_id.value_or(std::string_view());
  size_t body_at = static_cast<size_t>(head.body.data() - frame.data());
  if (frame.size() <= kCopiedFrame) {
    auto copy = arena_.array<uint8_t>(frame.size());
    std::memcpy(copy.data(), frame.data(), frame.size());
    if (!client.empty()) {
      size_t client_at = static_cast<size_t>(as_bytes(client).data() - frame.data());
      client = as_text(Bytes(copy).subspan(client_at, client.size()));
    }
    body_ = copy.subspan(body_at);
  } else {
    hold_ = std::move(hold);
    body_ = frame.subspan(body_at);
  }
  client_id_ = client;
}

void Request::end() {
  CHECK(state_ == State::kAnswered);
  reply_.reset();
  for (StateEnd* each = state_ends_; each != nullptr; each = each->next) each->destroy(each->first, each->count);
  state_ends_ = nullptr;
  hold_.reset();
  here_->connections->memory().charge(charged_, 0);
  connection_ = nullptr;
  state_ = State::kFree;
}

void Request::respond_nothing() { finish(); }

void Request::close_connection(const char* why, CloseReason reason) {
  close_reason_ = why;
  close_category_ = reason;
  finish();
}

bool Request::decoded(proto::DecodeError error) {
  arena_.set_limit(kStateLimit);
  charge();  // now, as it may go to another shard next and stay there
  if (error == proto::DecodeError::kNone) return true;
  if (error == proto::DecodeError::kTooLarge && little_memory_) {
    close_connection("a request larger than the memory that is left for requests", CloseReason::kMemory);
  } else {
    close_connection("malformed request");
  }
  return false;
}

void Request::charge() {
  if (away_) return;
  size_t bytes = sizeof(Request) + arena_.reserved() + (home_with_answer_ ? reply_.bytes().size() : 0);
  here_->connections->memory().charge(charged_, bytes);
}

void Request::works_on(ShardId shard) { connection_->note_target(shard); }

void Request::uses_session(int32_t session_id) { connection_->note_session(session_id); }

void Request::hop(ShardId to, Continue next) {
  CHECK(state_ == State::kRunning && next_ == nullptr);
  next_ = next;
  if (here_->shard.id() == home_ && to != home_) away_ = true;
  ++here_->counters.requests_hopped;
  here_->shard.send(to, message_);
}

void Request::finish() {
  CHECK(state_ == State::kRunning, "a request is answered once");
  state_ = State::kAnswered;
  times_.answered = here_->shard.io().now_ns();
  if (here_->shard.id() == home_) {
    home_with_answer_ = true;
    connection_->on_answered(*this);
  } else {
    here_->shard.send(home_, message_);
  }
}

void Request::on_sent(SendEnd end) { connection_->on_sent(*this, end); }

void Request::arrived(Shard& shard) {
  here_ = &shard.context<BrokerShard>();
  if (shard.id() == home_) away_ = false;
  if (state_ == State::kAnswered) {
    home_with_answer_ = true;
    return connection_->on_answered(*this);
  }
  Continue next = std::exchange(next_, nullptr);
  next(*here_, *this);
}

}  // namespace pelton::broker
