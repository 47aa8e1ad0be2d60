#include "broker/metrics/http_connection.h"

#include <algorithm>
#include <utility>

#include "broker/metrics/http_listener.h"
#include "reactor/base/bytes.h"

namespace pelton::broker {
namespace {

constexpr uint64_t kRequestNs = 2'000'000'000;
constexpr uint64_t kAnswerNs = 10'000'000'000;

}  // namespace

HttpConnection::HttpConnection(HttpListener& listener, Loop& loop, SocketFd socket)
    : listener_(listener),
      loop_(loop),
      socket_(socket),
      recv_(Completion::bind<&HttpConnection::on_received>(this)),
      send_(Completion::bind<&HttpConnection::on_sent>(this)),
      deadline_(Timer::bind<&HttpConnection::on_deadline>(this)),
      end_(Completion::bind<&HttpConnection::on_end>(this)) {}

HttpConnection::~HttpConnection() = default;

void HttpConnection::start() {
  loop_.timers().start(deadline_, loop_.now_ns() + kRequestNs);
  receive();
}

void HttpConnection::receive() {
  recv_.into = MutableBytes(head_).subspan(received_);
  loop_.io().recv(socket_, recv_);
}

void HttpConnection::on_received(int32_t result) {
  if (result <= 0 || closed_) return close();
  received_ += static_cast<size_t>(result);
  auto parsed = parse_http(as_text(Bytes(head_).first(received_)));
  if (!parsed) return receive();
  loop_.timers().cancel(deadline_);
  loop_.timers().start(deadline_, loop_.now_ns() + kAnswerNs);
  head_only_ = parsed->request.head;
  listener_.serve(*this, *parsed);
}

void HttpConnection::answer(int status, std::string_view content_type,
                            std::shared_ptr<const std::string> body) {
  if (closed_) return;
  answer_head_ = http_head(status, content_type, body->size());
  if (!head_only_) body_ = std::move(body);
  send_rest();
}

void HttpConnection::send_rest() {
  size_t body_size = body_ ? body_->size() : 0;
  size_t left_of_head = answer_head_.size() - std::min(sent_, answer_head_.size());
  size_t body_at = sent_ - (answer_head_.size() - left_of_head);
  if (left_of_head == 0 && body_at == body_size) return close();
  int count = 0;
  auto add = [&](const char* data, size_t size) {
    if (size > 0) pieces_[static_cast<size_t>(count++)] = {const_cast<char*>(data), size};
  };
  add(answer_head_.data() + sent_ - body_at, left_of_head);
  if (body_) add(body_->data() + body_at, body_size - body_at);
  send_.pieces = pieces_.data();
  send_.count = count;
  loop_.io().send(socket_, send_);
}

void HttpConnection::on_sent(int32_t result) {
  if (result <= 0 || closed_) return close();
  sent_ += static_cast<size_t>(result);
  send_rest();
}

void HttpConnection::on_deadline() { close(); }

void HttpConnection::close() {
  if (!closed_) {
    closed_ = true;
    loop_.timers().cancel(deadline_);
    loop_.io().shutdown(socket_);
  }
  // The shutdown ends what is pending; its completion comes by here again.
  if (!recv_.done.pending() && !send_.done.pending() && !end_.pending()) loop_.post(end_);
}

void HttpConnection::on_end(int32_t) {
  loop_.io().close(socket_);
  listener_.remove(*this);
}

}  // namespace pelton::broker
