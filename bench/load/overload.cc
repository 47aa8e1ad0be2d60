// What a broker does with more than it can take. First closed loops find what it takes at the most: so many
// connections that each keep requests in flight, and the most of several steps is the peak. Then several times as
// many connections send several times the peak, by the clock and whether they were answered or not, as far as the
// sockets take it. Beside both one client asks for Metadata and produces one record to a topic of its own, again and
// again. Prints one JSON object.
//
// usage: overload --port n --pid broker [--records 15] [--seconds 5] [--times 4] [--connections 2,4,8]
//                 [--config k=v]...
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/load/options.h"
#include "bench/load/partition_requests.h"
#include "bench/load/percentiles.h"
#include "proto/messages/metadata.h"

namespace pelton::bench {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kInFlight = 5;
constexpr int64_t kOtherPauseNs = 20'000'000;
constexpr int kPollMs = 5;

// A connection that never waits: what the socket does not take goes later.
class Lane {
 public:
  Lane(uint16_t port, const Topic& topic, int32_t partition, Bytes batch)
      : client_(port), frame_(produce_frame(client_, topic, partition, -1, batch)), received_(kReceive) {
    int flags = ::fcntl(client_.fd(), F_GETFL);
    if (::fcntl(client_.fd(), F_SETFL, flags | O_NONBLOCK) != 0) fail("O_NONBLOCK");
  }

  int fd() const { return client_.fd(); }
  bool wants_to_send(int64_t allowed) const { return begun_ < allowed; }
  int64_t answered() const { return answered_; }
  int64_t sent() const { return begun_; }

  // Sends until `allowed` requests were begun or the socket is full.
  void send(int64_t allowed) {
    while (begun_ < allowed) {
      ssize_t sent = ::send(client_.fd(), frame_.data() + at_, frame_.size() - at_, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent <= 0) fail("send");
      at_ += static_cast<size_t>(sent);
      if (at_ < frame_.size()) continue;
      at_ = 0;
      ++begun_;
    }
  }

  void receive() {
    ssize_t got = ::recv(client_.fd(), received_.data() + filled_, received_.size() - filled_, 0);
    if (got < 0 && errno == EAGAIN) return;
    errno = 0;
    if (got <= 0) fail("the broker closed a connection");
    filled_ += static_cast<size_t>(got);
    size_t at = 0;
    while (filled_ - at >= proto::kFrameSizeBytes) {
      size_t size = load_be<uint32_t>(received_.data() + at) + proto::kFrameSizeBytes;
      if (size > received_.size()) fail("too long an answer");
      if (filled_ - at < size) break;
      check(Bytes(received_).subspan(at, size));
      at += size;
      ++answered_;
    }
    std::copy(received_.begin() + static_cast<ptrdiff_t>(at), received_.begin() + static_cast<ptrdiff_t>(filled_),
              received_.begin());
    filled_ -= at;
  }

 private:
  static constexpr size_t kReceive = 65536;

  // An answer without an error.
  void check(Bytes frame) {
    Bytes body = frame.subspan(proto::kFrameSizeBytes);
    proto::Arena arena(proto::Arena::limit_for(body.size()));
    proto::WireReader in(body, arena);
    int16_t version = client_.version<proto::ProduceResponse>();
    proto::read_response_header(in, static_cast<int16_t>(proto::ProduceResponse::kApiKey), version);
    proto::ProduceResponse response;
    response.decode(in, version);
    if (!in.ok()) fail("a bad answer");
    produced_at(response);
  }

  KafkaClient client_;
  std::vector<uint8_t> frame_;
  size_t at_ = 0;  // in the frame that is being sent
  int64_t begun_ = 0;
  std::vector<uint8_t> received_;
  size_t filled_ = 0;
  int64_t answered_ = 0;
};

struct Rate {
  double requests_per_s = 0;
  double offered_per_s = 0;
};

class Lanes {
 public:
  Lanes(uint16_t port, const Topic& topic, size_t count, int32_t partitions, Bytes batch) {
    for (size_t i = 0; i < count; ++i)
      lanes_.push_back(std::make_unique<Lane>(
          port, topic, static_cast<int32_t>(i % static_cast<size_t>(partitions)), batch));
  }

  Rate closed(int64_t seconds) {
    return run(seconds, [](const Lane& lane, int64_t) { return lane.answered() + kInFlight; });
  }
  Rate offered(int64_t seconds, double per_s) {
    double each = per_s / static_cast<double>(lanes_.size());
    return run(seconds, [each](const Lane&, int64_t ns) {
      return static_cast<int64_t>(each * static_cast<double>(ns) / 1e9);
    });
  }

 private:
  // allowed(lane, ns since the start): how many requests it may have begun. The last four fifths count.
  template <class Allowed>
  Rate run(int64_t seconds, Allowed allowed) {
    int64_t begun = monotonic_ns();
    int64_t counted_from = begun + seconds * kSecondNs / 5;
    int64_t end = begun + seconds * kSecondNs;
    int64_t answered = -1, sent = 0, from = 0;
    std::vector<pollfd> waiting(lanes_.size());
    int64_t now = begun;
    for (; now < end; now = monotonic_ns()) {
      if (answered < 0 && now >= counted_from) std::tie(answered, sent, from) = std::tuple(count(), offered(), now);
      for (size_t i = 0; i < lanes_.size(); ++i) {
        bool more = lanes_[i]->wants_to_send(allowed(*lanes_[i], now - begun));
        waiting[i] = {lanes_[i]->fd(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0};
      }
      if (::poll(waiting.data(), waiting.size(), kPollMs) < 0) fail("poll");
      for (size_t i = 0; i < lanes_.size(); ++i) {
        if (waiting[i].revents & (POLLIN | POLLERR | POLLHUP)) lanes_[i]->receive();
        if (waiting[i].revents & POLLOUT) lanes_[i]->send(allowed(*lanes_[i], now - begun));
      }
    }
    double counted_s = static_cast<double>(now - from) / 1e9;
    return {static_cast<double>(count() - answered) / counted_s, static_cast<double>(offered() - sent) / counted_s};
  }
  int64_t count() const {
    int64_t all = 0;
    for (const auto& lane : lanes_) all += lane->answered();
    return all;
  }
  int64_t offered() const {
    int64_t all = 0;
    for (const auto& lane : lanes_) all += lane->sent();
    return all;
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
};

// The one who has nothing to do with the load, in a thread of its own; and the broker's memory.
class Other {
 public:
  Other(uint16_t port, const Topic& topic, int64_t pid)
      : client_(port), frame_(produce_frame(client_, topic, 0, -1, make_batch(1, 100))), pid_(pid),
        thread_([this] { run(); }) {}
  ~Other() { end(); }

  void end() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // After end().
  std::string json() {
    return fmt::format(R"("metadata_us": {}, "produce_us": {}, "rss_max": {})", metadata_.json_us(),
                       produced_.json_us(), rss_max_);
  }

 private:
  void run() {
    proto::MetadataRequest request;
    request.topics = std::span<proto::MetadataRequest::MetadataRequestTopic>{};
    while (!ended_) {
      int64_t asked = monotonic_ns();
      client_.call<proto::MetadataResponse>(request);
      metadata_.add_ns(monotonic_ns() - asked);
      asked = monotonic_ns();
      client_.send_frame(frame_);
      produced_at(client_.receive<proto::ProduceResponse>());
      produced_.add_ns(monotonic_ns() - asked);
      rss_max_ = std::max(rss_max_, process_rss_bytes(pid_));
      std::this_thread::sleep_for(std::chrono::nanoseconds(kOtherPauseNs));
    }
  }

  KafkaClient client_;
  std::vector<uint8_t> frame_;
  int64_t pid_;
  Percentiles metadata_, produced_;
  int64_t rss_max_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // last: it uses all of these
};

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  int64_t pid = options.number("--pid", 0);
  int32_t records = static_cast<int32_t>(options.number("--records", 15));
  int64_t seconds = std::max<int64_t>(options.number("--seconds", 5), 1);
  int64_t times = std::max<int64_t>(options.number("--times", 4), 1);
  std::vector<int64_t> steps = options.numbers("--connections", "2,4,8");
  std::vector<std::string> configs = options.all("--config");
  options.done();
  raise_descriptor_limit();

  constexpr int32_t kPartitions = 4;
  KafkaClient admin(port);
  Topic topic = admin.create_topic("overload", kPartitions, configs);
  Topic other_topic = admin.create_topic("overload-other", 1, configs);
  std::vector<uint8_t> batch = make_batch(records, 1024);
  double peak = 0;
  size_t saturating = 1;
  std::string calm;
  {
    Other other(port, other_topic, pid);
    for (int64_t step : steps) {
      auto count = static_cast<size_t>(std::max<int64_t>(step, 1));
      Rate got = Lanes(port, topic, count, kPartitions, batch).closed(seconds);
      if (got.requests_per_s > peak) std::tie(peak, saturating) = std::tuple(got.requests_per_s, count);
    }
    other.end();
    calm = other.json();
  }
  Other other(port, other_topic, pid);
  Lanes lanes(port, topic, saturating * static_cast<size_t>(times), kPartitions, batch);
  Rate over = lanes.offered(seconds * 2, peak * static_cast<double>(times));
  other.end();
  admin.delete_topic(topic);
  admin.delete_topic(other_topic);
  fmt::print(R"({{"saturating_connections": {}, "peak_per_s": {:.0f}, "goodput_per_s": {:.0f}, )"
             R"("goodput_of_peak": {:.3f}, "taken_per_s": {:.0f}, "calm": {{{}}}, "overload": {{{}}}}})"
             "\n",
             saturating, peak, over.requests_per_s, over.requests_per_s / peak, over.offered_per_s, calm,
             other.json());
}
