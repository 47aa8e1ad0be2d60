// Latency of one record at a time, in microseconds: a producing connection sends one batch with one
// record, a consuming connection has a Fetch waiting for it (min bytes 1). Measures from the send
// to the acknowledgement and to the record's arrival. Closed loop, one thread. Works against any
// broker that speaks the protocol. Creates the topic and deletes it. Prints one JSON object.
//
// usage: latency_probe --port n --topic name [--config key=value]... [--samples n] [--warmup n]
//                      [--pause-us n] [--value-bytes n] [--acks all|1]
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>

#include "bench/load/options.h"
#include "bench/load/partition_requests.h"
#include "bench/load/percentiles.h"

namespace pelton::bench {
namespace {

constexpr int kStalledMs = 30'000;

class Probe {
 public:
  Probe(uint16_t port, const std::string& topic, const std::vector<std::string>& configs)
      : producer_(port), consumer_(port), topic_(producer_.create_topic(topic, 1, configs)) {}
  ~Probe() { producer_.delete_topic(topic_); }

  void prepare(size_t value_bytes, int16_t acks) {
    frame_ = produce_frame(producer_, topic_, 0, acks, make_batch(1, value_bytes));
    await_leader();
    ask();
  }

  // Sends one record and waits for both answers. `pause_us` lets the Fetch reach its waiting place.
  void sample(unsigned pause_us) {
    ::usleep(pause_us);
    sent_ns_ = monotonic_ns();
    producer_.send_frame(frame_);
    ack_ns_ = consumed_ns_ = 0;
    while (ack_ns_ == 0 || consumed_ns_ == 0) wait_once();
    ++offset_;
    ask();
  }

  int64_t ack_ns() const { return ack_ns_ - sent_ns_; }
  int64_t consumed_ns() const { return consumed_ns_ - sent_ns_; }
  int64_t empty_answers() const { return empty_answers_; }

 private:
  void ask() { send_fetch(consumer_, topic_, 0, offset_, {}); }

  // Apache Kafka may refuse the first requests for a new topic: its leader is not ready yet.
  void await_leader() {
    for (int i = 0; i < 1000; ++i, ::usleep(5000)) {
      FetchLimits no_wait;
      no_wait.max_wait_ms = 0;
      send_fetch(consumer_, topic_, 0, 0, no_wait);
      auto response = consumer_.receive<proto::FetchResponse>();
      if (response.error_code == 0 && !response.responses.empty() &&
          response.responses[0].partitions[0].error_code == 0)
        return;
    }
    errno = 0;
    fail("the partition has no leader");
  }

  void wait_once() {
    std::array<pollfd, 2> waiting = {pollfd{producer_.fd(), POLLIN, 0},
                                     pollfd{consumer_.fd(), POLLIN, 0}};
    errno = 0;
    if (::poll(waiting.data(), waiting.size(), kStalledMs) <= 0) fail("no answer");
    if (waiting[0].revents != 0) on_ack();
    if (waiting[1].revents != 0) on_fetched();
  }

  void on_ack() {
    auto response = producer_.receive<proto::ProduceResponse>();
    ack_ns_ = monotonic_ns();
    errno = 0;
    if (produced_at(response) != offset_) fail("the record got another offset");
  }

  void on_fetched() {
    auto response = consumer_.receive<proto::FetchResponse>();
    int64_t now = monotonic_ns();
    Bytes records = fetched_records(response);
    if (records.empty()) {  // the wait expired
      ++empty_answers_;
      ask();
      return;
    }
    consumed_ns_ = now;
    errno = 0;
    if (offset_after(records, -1) != offset_ + 1) fail("the consumer got something else");
  }

  KafkaClient producer_;
  KafkaClient consumer_;
  Topic topic_;
  std::vector<uint8_t> frame_;
  int64_t offset_ = 0;
  int64_t sent_ns_ = 0;
  int64_t ack_ns_ = 0;
  int64_t consumed_ns_ = 0;
  int64_t empty_answers_ = 0;
};

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  std::string topic = options.text("--topic", "latency-probe");
  std::vector<std::string> configs = options.all("--config");
  int64_t samples = options.number("--samples", 2000);
  int64_t warmup = options.number("--warmup", 500);
  unsigned pause_us = static_cast<unsigned>(options.number("--pause-us", 1000));
  size_t value_bytes = static_cast<size_t>(options.number("--value-bytes", 1024));
  int16_t acks = options.text("--acks", "all") == "all" ? -1 : 1;
  options.done();

  Percentiles ack, consumed;
  int64_t empty = 0;
  {
    Probe probe(port, topic, configs);
    probe.prepare(value_bytes, acks);
    for (int64_t i = 0; i < warmup; ++i) probe.sample(pause_us);
    for (int64_t i = 0; i < samples; ++i) {
      probe.sample(pause_us);
      ack.add_ns(probe.ack_ns());
      consumed.add_ns(probe.consumed_ns());
    }
    empty = probe.empty_answers();
  }
  fmt::print(R"({{"samples": {}, "expired_waits": {}, "ack_us": {}, "consumed_us": {}}})"
             "\n",
             samples, empty, ack.json_us(), consumed.json_us());
}
