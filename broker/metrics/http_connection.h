// HttpConnection: one client of the metrics listener: reads one request, gets its answer, ends.
//
// Owner shard: the metrics listener's. Lifetime: made by HttpListener with an accepted socket; tells the
// listener when nothing of it is pending any more, and is destroyed by it.
// Bounds: 4 KiB of request; a deadline for it, and one for everything.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "broker/metrics/http_message.h"
#include "reactor/base/intrusive_list.h"
#include "reactor/io.h"
#include "reactor/loop.h"

namespace pelton::broker {

class HttpListener;

struct HttpTag;
struct HttpWaitTag;
class HttpConnection final : public ListHook<HttpTag>, public ListHook<HttpWaitTag> {
 public:
  HttpConnection(HttpListener& listener, Loop& loop, SocketFd socket);
  ~HttpConnection();
  void start();
  // The answer; once, unless the connection has ended meanwhile.
  void answer(int status, std::string_view content_type, std::shared_ptr<const std::string> body);
  void close();
  bool reading() const { return recv_.done.pending(); }
  bool closed() const { return closed_; }

 private:
  void receive();
  void on_received(int32_t result);
  void on_sent(int32_t result);
  void on_deadline();
  void on_end(int32_t);
  void send_rest();

  HttpListener& listener_;
  Loop& loop_;
  SocketFd socket_;
  std::array<uint8_t, kMaxHttpHead> head_;
  size_t received_ = 0;
  bool head_only_ = false;
  bool closed_ = false;
  std::string answer_head_;
  std::shared_ptr<const std::string> body_;
  size_t sent_ = 0;
  std::array<iovec, 2> pieces_;
  RecvOp recv_;
  SendOp send_;
  Timer deadline_;
  Completion end_;
};

}  // namespace pelton::broker
