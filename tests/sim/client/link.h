// Link: a simulated client's connection: requests out, answers in, in the order of requests, through the
// project's codec. Slow and fast readers, partial sends and receives come from the network underneath.
//
// Owner: one client, for the whole run. Lifetime: until the run ends (events under way point here).
// Invariant: on_lost is called once for each connection that ended or timed out; no handler of it runs
// after that.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "proto/frame.h"
#include "proto/wire.h"
#include "tests/sim/world/sim_network.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

class Link {
 public:
  using Handler = std::function<void(proto::WireReader& in)>;
  // `bug`: told when the broker answers what no broker may.
  Link(World& world, SimNetwork& network, uint16_t port, std::string client_id,
       std::function<void()> on_lost, std::function<void(const std::string&)> bug);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  bool open() const { return connection_ != nullptr; }
  void connect();
  // Gives the connection up without telling on_lost.
  void abort();
  // No more requests; answers to those sent are waited for.
  void finish_sending();
  size_t unanswered() const { return pending_.size(); }

  // `handler` gets the body of the answer; nullptr: this request has none (acks=0).
  template <class Request>
  void call(const Request& request, int16_t version, Handler handler,
            uint64_t timeout_ns = 8 * kSecond) {
    auto key = static_cast<int16_t>(Request::kApiKey);
    size_t head = proto::request_header_size(key, version, client_id_);
    std::string frame(proto::kFrameSizeBytes + head + request.size(version), '\0');
    MutableBytes bytes(reinterpret_cast<uint8_t*>(frame.data()), frame.size());
    store_be<int32_t>(bytes.data(), static_cast<int32_t>(frame.size() - proto::kFrameSizeBytes));
    proto::WireWriter out(bytes.subspan(proto::kFrameSizeBytes));
    proto::write_request_header(out, key, version, ++correlation_, client_id_);
    request.encode(out, version);
    submit(std::move(frame), key, version, std::move(handler), timeout_ns);
  }

  // Answers are decoded with this: what a decoded message points to lives until its handler returns.
  template <class Response>
  bool decode(proto::WireReader& in, int16_t version, Response& response) {
    response.decode(in, version);
    if (in.ok() && in.left() == 0) return true;
    bug_("an answer that does not decode");
    return false;
  }

 private:
  struct Pending {
    int16_t api_key;
    int16_t version;
    int32_t correlation;
    Handler handler;
  };

  void submit(std::string frame, int16_t key, int16_t version, Handler handler, uint64_t timeout_ns);
  void pump();
  void changed();
  void receive();
  void take_frames();
  void take_frame(Bytes frame);
  void lose();

  World& world_;
  SimNetwork& network_;
  uint16_t port_;
  std::string client_id_;
  std::function<void()> on_lost_;
  std::function<void(const std::string&)> bug_;
  SimNetwork::ConnectionPtr connection_;
  uint64_t generation_ = 0;  // of the connection: events of older ones are passed over
  bool receive_scheduled_ = false;
  int32_t correlation_ = 0;
  std::string out_;
  std::string in_;
  std::deque<Pending> pending_;
};

}  // namespace pelton::sim
