// A known number of Produce or Fetch requests over raw connections, closed loop, so that what the
// broker does can be divided by it (system calls, CPU). Produce: every connection keeps `in-flight`
// requests outstanding, to its own partition when the topic has enough. Fetch: every connection
// walks through partition 0 of a topic that holds data. Prints one JSON object.
//
// usage: request_load produce|fetch --port n --topic name --requests n [--connections n]
//          produce: [--in-flight n] [--records n] [--value-bytes n] [--partitions n] [--config
//          k=v]... fetch:   [--max-bytes n]
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "bench/load/options.h"
#include "bench/load/partition_requests.h"
#include "bench/load/percentiles.h"

namespace pelton::bench {
namespace {

constexpr int kStalledMs = 60'000;

struct Load {
  uint16_t port;
  std::string topic;
  int64_t requests;
  int64_t connections;
};

// One connection's share: what it has sent and what was answered.
struct Lane {
  explicit Lane(uint16_t port) : client(port) {}
  KafkaClient client;
  std::vector<uint8_t> frame;
  std::vector<int64_t> sent_ns;  // ring of the outstanding requests
  int64_t sent = 0;
  int64_t answered = 0;
  int64_t offset = 0;
};

void await_any(std::vector<pollfd>& waiting) {
  errno = 0;
  if (::poll(waiting.data(), waiting.size(), kStalledMs) <= 0) fail("no answer");
}

std::vector<std::unique_ptr<Lane>> open_lanes(const Load& load) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int64_t i = 0; i < load.connections; ++i) lanes.push_back(std::make_unique<Lane>(load.port));
  return lanes;
}

// Runs every lane to its share; `send` starts a request, `receive` takes an answer.
template <class Send, class Receive>
void run_lanes(std::vector<std::unique_ptr<Lane>>& lanes, int64_t share, int64_t in_flight,
               Percentiles& latency, Send send, Receive receive) {
  for (auto& lane : lanes) lane->sent_ns.resize(static_cast<size_t>(in_flight));
  auto start = [&](Lane& lane) {
    lane.sent_ns[static_cast<size_t>(lane.sent % in_flight)] = monotonic_ns();
    send(lane);
    ++lane.sent;
  };
  for (auto& lane : lanes)
    while (lane->sent < std::min(in_flight, share)) start(*lane);
  std::vector<pollfd> waiting;
  while (true) {
    waiting.clear();
    for (auto& lane : lanes)
      waiting.push_back({lane->answered < share ? lane->client.fd() : -1, POLLIN, 0});
    if (std::ranges::all_of(waiting, [](const pollfd& each) { return each.fd < 0; })) return;
    await_any(waiting);
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      Lane& lane = *lanes[i];
      receive(lane);
      latency.add_ns(monotonic_ns() - lane.sent_ns[static_cast<size_t>(lane.answered % in_flight)]);
      ++lane.answered;
      if (lane.sent < share) start(lane);
    }
  }
}

void report(const Load& load, int64_t share, int64_t bytes, int64_t started, Percentiles& latency) {
  double seconds = static_cast<double>(monotonic_ns() - started) / 1e9;
  fmt::print(R"({{"requests": {}, "bytes": {}, "seconds": {:.3f}, "latency_us": {}}})"
             "\n",
             share * load.connections, bytes, seconds, latency.json_us());
}

void produce(const Load& load, Options& options) {
  int64_t in_flight = std::max<int64_t>(options.number("--in-flight", 1), 1);
  int32_t records = static_cast<int32_t>(options.number("--records", 15));
  size_t value_bytes = static_cast<size_t>(options.number("--value-bytes", 1024));
  int32_t partitions = static_cast<int32_t>(options.number("--partitions", 1));
  std::vector<std::string> configs = options.all("--config");
  options.done();
  KafkaClient admin(load.port);
  Topic topic = admin.create_topic(load.topic, partitions, configs);
  std::vector<uint8_t> batch = make_batch(records, value_bytes);
  auto lanes = open_lanes(load);
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i]->frame =
        produce_frame(lanes[i]->client, topic,
                      static_cast<int32_t>(i % static_cast<size_t>(partitions)), -1, batch);
  Percentiles latency;
  int64_t share = load.requests / load.connections;
  int64_t started = monotonic_ns();
  run_lanes(
      lanes, share, in_flight, latency, [](Lane& lane) { lane.client.send_frame(lane.frame); },
      [](Lane& lane) { produced_at(lane.client.receive<proto::ProduceResponse>()); });
  report(load, share, share * load.connections * static_cast<int64_t>(batch.size()), started,
         latency);
}

void fetch(const Load& load, Options& options) {
  FetchLimits limits;
  limits.max_bytes = static_cast<int32_t>(options.number("--max-bytes", 1 << 20));
  options.done();
  Topic topic = KafkaClient(load.port).find_topic(load.topic);
  auto lanes = open_lanes(load);
  Percentiles latency;
  int64_t bytes = 0;
  int64_t share = load.requests / load.connections;
  int64_t started = monotonic_ns();
  run_lanes(
      lanes, share, 1, latency,
      [&](Lane& lane) { send_fetch(lane.client, topic, 0, lane.offset, limits); },
      [&](Lane& lane) {
        auto response = lane.client.receive<proto::FetchResponse>();
        Bytes got = fetched_records(response);
        errno = 0;
        if (got.empty()) fail("the topic is empty");
        bytes += static_cast<int64_t>(got.size());
        lane.offset = offset_after(got, 0);
        // Round again before a Fetch would have to wait at the end.
        if (lane.offset >= response.responses[0].partitions[0].high_watermark) lane.offset = 0;
      });
  report(load, share, bytes, started, latency);
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  errno = 0;
  if (argc < 2) fail("usage: request_load produce|fetch --port n --topic name --requests n ...");
  std::string mode = argv[1];
  Options options(argc - 1, argv + 1);
  Load load{static_cast<uint16_t>(options.number("--port", 9092)), options.text("--topic", "load"),
            options.number("--requests", 1000),
            std::max<int64_t>(options.number("--connections", 1), 1)};
  errno = 0;
  if (mode == "produce")
    produce(load, options);
  else if (mode == "fetch")
    fetch(load, options);
  else
    fail("produce or fetch wanted");
}
