// What a broker does with more than it can take. First closed loops find how many connections, each with requests in
// flight, bring the most through. Then rounds: closed loops of so many connections, whose rate is the peak, and
// several times as many connections that send several times this peak, by the clock and whether they were answered
// or not, as far as the sockets take it. What counts is the median of the rounds' goodput to peak: both of a round
// have the same machine. Beside both one client asks for Metadata and produces one record to a topic of its own,
// again and again. CPU for each request tells the generator's part from the broker's. Prints one JSON object.
//
// usage: overload --port n --pid broker [--records 15] [--seconds 5] [--rounds 3] [--times 4] [--connections 2,4,8]
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
  double broker_us = 0;     // CPU for each request
  double generator_us = 0;
};

class Lanes {
 public:
  Lanes(uint16_t port, int64_t pid, const Topic& topic, size_t count, int32_t partitions, Bytes batch) : pid_(pid) {
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
    int64_t answered = -1, sent = 0, from = 0, broker_cpu = 0, own_cpu = 0;
    std::vector<pollfd> waiting(lanes_.size());
    int64_t now = begun;
    for (; now < end; now = monotonic_ns()) {
      if (answered < 0 && now >= counted_from) {
        std::tie(answered, sent, from) = std::tuple(count(), offered(), now);
        std::tie(broker_cpu, own_cpu) = std::tuple(process_cpu_ns(pid_), thread_cpu_ns());
      }
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
    double requests = static_cast<double>(count() - answered);
    return {requests / counted_s, static_cast<double>(offered() - sent) / counted_s,
            static_cast<double>(process_cpu_ns(pid_) - broker_cpu) / 1e3 / requests,
            static_cast<double>(thread_cpu_ns() - own_cpu) / 1e3 / requests};
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

  int64_t pid_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

// What the one saw who has nothing to do with the load; and the broker's memory.
struct OtherSeen {
  Percentiles metadata, produced;
  int64_t rss_max = 0;

  std::string json() {
    return fmt::format(R"("metadata_us": {}, "produce_us": {}, "rss_max": {})", metadata.json_us(),
                       produced.json_us(), rss_max);
  }
};

// This one, in a thread of its own for as long as it lives.
class Other {
 public:
  Other(uint16_t port, const Topic& topic, int64_t pid, OtherSeen& seen)
      : client_(port), frame_(produce_frame(client_, topic, 0, -1, make_batch(1, 100))), pid_(pid), seen_(seen),
        thread_([this] { run(); }) {}
  ~Other() {
    ended_ = true;
    thread_.join();
  }

 private:
  void run() {
    proto::MetadataRequest request;
    request.topics = std::span<proto::MetadataRequest::MetadataRequestTopic>{};
    while (!ended_) {
      int64_t asked = monotonic_ns();
      client_.call<proto::MetadataResponse>(request);
      seen_.metadata.add_ns(monotonic_ns() - asked);
      asked = monotonic_ns();
      client_.send_frame(frame_);
      produced_at(client_.receive<proto::ProduceResponse>());
      seen_.produced.add_ns(monotonic_ns() - asked);
      seen_.rss_max = std::max(seen_.rss_max, process_rss_bytes(pid_));
      std::this_thread::sleep_for(std::chrono::nanoseconds(kOtherPauseNs));
    }
  }

  KafkaClient client_;
  std::vector<uint8_t> frame_;
  int64_t pid_;
  OtherSeen& seen_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // last: it uses all of these
};

struct Load {
  uint16_t port;
  int64_t pid;
  Topic topic;
  std::vector<uint8_t> batch;
  int64_t seconds;

  static constexpr int32_t kPartitions = 4;
  Lanes lanes(size_t count) const { return Lanes(port, pid, topic, count, kPartitions, batch); }
};

size_t find_saturating(const Load& load, const std::vector<int64_t>& steps) {
  double most = 0;
  size_t saturating = 1;
  for (int64_t step : steps) {
    auto count = static_cast<size_t>(std::max<int64_t>(step, 1));
    double got = load.lanes(count).closed(load.seconds).requests_per_s;
    if (got > most) std::tie(most, saturating) = std::tuple(got, count);
  }
  return saturating;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Of all rounds.
struct Medians {
  std::vector<Rate> rates;

  double of(double Rate::* what) const {
    std::vector<double> values;
    for (const Rate& rate : rates) values.push_back(rate.*what);
    return median(values);
  }
  std::string json() const {
    return fmt::format(R"("per_s": {:.0f}, "broker_us": {:.1f}, "generator_us": {:.1f})", of(&Rate::requests_per_s),
                       of(&Rate::broker_us), of(&Rate::generator_us));
  }
};

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  Load load;
  load.port = static_cast<uint16_t>(options.number("--port", 9092));
  load.pid = options.number("--pid", 0);
  int32_t records = static_cast<int32_t>(options.number("--records", 15));
  load.seconds = std::max<int64_t>(options.number("--seconds", 5), 1);
  int64_t rounds = std::max<int64_t>(options.number("--rounds", 3), 1);
  int64_t times = std::max<int64_t>(options.number("--times", 4), 1);
  std::vector<int64_t> steps = options.numbers("--connections", "2,4,8");
  std::vector<std::string> configs = options.all("--config");
  options.done();
  raise_descriptor_limit();

  KafkaClient admin(load.port);
  load.topic = admin.create_topic("overload", Load::kPartitions, configs);
  Topic other_topic = admin.create_topic("overload-other", 1, configs);
  load.batch = make_batch(records, 1024);
  size_t saturating = find_saturating(load, steps);
  Medians peak, over;
  std::vector<double> ratios;
  OtherSeen calm_seen, over_seen;
  for (int64_t round = 0; round < rounds; ++round) {
    {
      Other other(load.port, other_topic, load.pid, calm_seen);
      peak.rates.push_back(load.lanes(saturating).closed(load.seconds));
    }
    double offered = peak.rates.back().requests_per_s * static_cast<double>(times);
    {
      Other other(load.port, other_topic, load.pid, over_seen);
      over.rates.push_back(load.lanes(saturating * static_cast<size_t>(times)).offered(load.seconds, offered));
    }
    ratios.push_back(over.rates.back().requests_per_s / peak.rates.back().requests_per_s);
  }
  admin.delete_topic(load.topic);
  admin.delete_topic(other_topic);
  fmt::print(R"({{"saturating_connections": {}, "goodput_of_peak": {:.3f}, "of_peak_min": {:.3f}, )"
             R"("of_peak_max": {:.3f}, "taken_per_s": {:.0f}, "calm": {{{}, {}}}, "overload": {{{}, {}}}}})"
             "\n",
             saturating, median(ratios), *std::ranges::min_element(ratios), *std::ranges::max_element(ratios),
             over.of(&Rate::offered_per_s), peak.json(), calm_seen.json(), over.json(), over_seen.json());
}
