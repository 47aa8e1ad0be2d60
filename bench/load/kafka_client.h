// A blocking connection that speaks the protocol through our codec, for probes and loads. Takes for
// each API the highest version that the broker and we have. One owner, one thread. A decoded
// response is a view: it lives until the next receive on the same connection. Anything unexpected
// ends the program: a figure measured on wrong answers is worth nothing.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/sockets.h"
#include "proto/arena.h"
#include "proto/frame.h"
#include "reactor/base/uuid.h"

namespace pelton::bench {

struct Topic {
  std::string name;
  Uuid id;  // of use where the version names topics by id
};

class KafkaClient {
 public:
  // Connects and asks ApiVersions.
  explicit KafkaClient(uint16_t port);

  int fd() const { return socket_.get(); }

  template <class Request>
  int16_t version() const {
    return version_of(static_cast<int16_t>(Request::kApiKey), Request::kMinVersion,
                      Request::kMaxVersion);
  }

  // A whole frame with correlation id 0; send_frame stamps the id.
  template <class Request>
  std::vector<uint8_t> encode(const Request& request) const {
    return encode(request, version<Request>());
  }

  template <class Request>
  void send(const Request& request) {
    std::vector<uint8_t> frame = encode(request);
    send_frame(frame);
  }
  void send_frame(MutableBytes frame);

  // The answer to the oldest request without one.
  template <class Response>
  Response receive() {
    int16_t version = this->version<Response>();
    proto::WireReader in = receive_frame(static_cast<int16_t>(Response::kApiKey), version);
    Response response;
    response.decode(in, version);
    if (!in.ok()) bad_answer(static_cast<int16_t>(Response::kApiKey), proto::name(in.error()));
    return response;
  }

  template <class Response, class Request>
  Response call(const Request& request) {
    send(request);
    return receive<Response>();
  }

  // Bytes of the last frame received, size field included.
  size_t last_frame_bytes() const { return buffer_.size() + proto::kFrameSizeBytes; }

  // Creates a topic with configs "key=value", replication factor 1, and waits for its leaders.
  Topic create_topic(const std::string& name, int32_t partitions,
                     const std::vector<std::string>& configs);
  // Waits until the topic is there with all leaders; fails after ten seconds.
  Topic find_topic(const std::string& name);
  void delete_topic(const Topic& topic);

 private:
  template <class Request>
  std::vector<uint8_t> encode(const Request& request, int16_t version) const {
    int16_t key = static_cast<int16_t>(Request::kApiKey);
    size_t size = proto::request_header_size(key, version, kClientId) + request.size(version);
    std::vector<uint8_t> frame(proto::kFrameSizeBytes + size);
    proto::WireWriter out(frame);
    out.write_i32(static_cast<int32_t>(size));
    proto::write_request_header(out, key, version, 0, kClientId);
    request.encode(out, version);
    return frame;
  }
  int16_t version_of(int16_t key, int16_t lowest, int16_t highest) const;
  proto::WireReader receive_frame(int16_t key, int16_t version);
  [[noreturn]] static void bad_answer(int16_t key, std::string_view why);
  void ask_versions();

  static constexpr std::string_view kClientId = "bench";
  static constexpr uint32_t kMaxFrame = 128 << 20;

  struct Range {
    int16_t lowest, highest;
  };

  Fd socket_;
  std::map<int16_t, Range> versions_;
  int32_t next_correlation_ = 1;
  int32_t next_answered_ = 1;
  std::vector<uint8_t> buffer_;
  proto::Arena arena_{0};
};

}  // namespace pelton::bench
