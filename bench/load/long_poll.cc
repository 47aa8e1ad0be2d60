// What many consumers that wait at the end of a log cost: each keeps one Fetch outstanding that waits the whole
// of its long poll, is answered with nothing, and is sent again. Against a broker, or against a bare epoll
// responder in a thread of this program that reads as many bytes, waits as long and answers as many.
// Prints one JSON object.
//
// usage: long_poll broker --port n --pid n --topic name   | long_poll bare --request-bytes n --answer-bytes n
//        both: [--consumers 1000] [--wait-ms 500] [--seconds 10] [--warm-up-s 2]
#include <fmt/core.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/load/options.h"
#include "bench/load/partition_requests.h"
#include "bench/load/percentiles.h"
#include "proto/error_code.h"

namespace pelton::bench {
namespace {

constexpr int kEvents = 256;
constexpr size_t kLargestMessage = 4096;
constexpr int kStalledMs = 20'000;

struct Load {
  size_t consumers;
  int32_t wait_ms;
  int64_t seconds;
  int64_t warm_up_s;
};

void watch(int epoll, int fd, uint64_t data) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

// One consumer in an incremental session: after the first Fetch it names no partition any more.
class Consumer {
 public:
  Consumer(uint16_t port, const Topic& topic, int32_t wait_ms) : client_(port), topic_(topic), wait_ms_(wait_ms) {}

  int fd() const { return client_.fd(); }
  void send() {
    proto::FetchRequest::FetchPartition partition;
    partition.partition_max_bytes = 1 << 20;
    proto::FetchRequest::FetchTopic topic;
    topic.topic = topic_.name;
    topic.topic_id = topic_.id;
    topic.partitions = {&partition, 1};
    proto::FetchRequest request;
    request.max_wait_ms = wait_ms_;
    request.min_bytes = 1;
    request.session_id = session_;
    request.session_epoch = epoch_;
    if (epoch_ == 0) request.topics = {&topic, 1};
    std::vector<uint8_t> frame = client_.encode(request);
    request_bytes = frame.size();
    client_.send_frame(frame);
  }
  void receive() {
    auto response = client_.receive<proto::FetchResponse>();
    auto error = static_cast<proto::ErrorCode>(response.error_code);
    if (error == proto::ErrorCode::kFetchSessionIdNotFound) {  // another has its place: a new one, as clients do
      session_ = epoch_ = 0;
      return;
    }
    errno = 0;
    if (error != proto::ErrorCode::kNone) fail(fmt::format("Fetch: error {}", response.error_code));
    session_ = response.session_id;
    if (session_ != 0) ++epoch_;
    answer_bytes = client_.last_frame_bytes();
  }

  // Gives its session back, as a consumer that closes does: the next run's find places of their own.
  void end_session() {
    receive();
    if (session_ == 0) return;
    proto::FetchRequest request;
    request.session_id = session_;
    request.session_epoch = kFinalEpoch;
    client_.call<proto::FetchResponse>(request);
  }

  size_t request_bytes = 0;
  size_t answer_bytes = 0;

 private:
  static constexpr int32_t kFinalEpoch = -1;

  KafkaClient client_;
  const Topic& topic_;
  int32_t wait_ms_;
  int32_t session_ = 0;
  int32_t epoch_ = 0;
};

class BareClient {
 public:
  BareClient(uint16_t port, size_t request, size_t answer)
      : request_bytes(request), answer_bytes(answer), socket_(connect_loopback(port)), bytes_(kLargestMessage) {}

  int fd() const { return socket_.get(); }
  void send() { send_all(socket_, Bytes(bytes_).first(request_bytes)); }
  void receive() {
    if (!receive_exact(socket_, MutableBytes(bytes_).first(answer_bytes))) fail("the responder closed");
  }
  void end_session() { receive(); }

  size_t request_bytes;
  size_t answer_bytes;

 private:
  Fd socket_;
  std::vector<uint8_t> bytes_;
};

// Every wait is equally long, so the answers are due in the order of their requests.
class Responder {
 public:
  Responder(size_t request, size_t answer, int32_t wait_ms)
      : request_(request), answer_(answer, 0), wait_ns_(int64_t{wait_ms} * 1'000'000),
        listener_(listen_loopback(port_)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), thread_([this] { run(); }) {
    if (::pthread_getcpuclockid(thread_.native_handle(), &clock_) != 0) fail("pthread_getcpuclockid");
  }
  ~Responder() {
    ended_ = true;
    thread_.join();
  }

  uint16_t port() const { return port_; }
  int64_t cpu_ns() const {
    timespec now{};
    ::clock_gettime(clock_, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

 private:
  struct Due {
    int64_t at_ns;
    const Fd* to;
  };

  void run() {
    std::array<epoll_event, kEvents> events;
    watch(epoll_.get(), listener_.get(), UINT64_MAX);
    while (!ended_) {
      int64_t left = due_.empty() ? wait_ns_ : due_.front().at_ns - monotonic_ns();
      int timeout = static_cast<int>(std::max<int64_t>(left + 999'999, 0) / 1'000'000);
      int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, timeout);
      for (int i = 0; i < count; ++i) take(events[static_cast<size_t>(i)].data.u64);
      for (int64_t now = monotonic_ns(); !due_.empty() && due_.front().at_ns <= now; due_.pop_front())
        send_all(*due_.front().to, answer_);
    }
  }
  void take(uint64_t from) {
    if (from == UINT64_MAX) {
      sockets_.push_back(accept_one(listener_));
      return watch(epoll_.get(), sockets_.back().get(), sockets_.size() - 1);
    }
    std::array<uint8_t, kLargestMessage> bytes;
    ssize_t got = ::recv(sockets_[from].get(), bytes.data(), bytes.size(), 0);
    errno = 0;
    if (got <= 0) return (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, sockets_[from].get(), nullptr);
    if (got != static_cast<ssize_t>(request_)) fail("a request in pieces");
    due_.push_back({monotonic_ns() + wait_ns_, &sockets_[from]});
  }

  size_t request_;
  std::vector<uint8_t> answer_;
  int64_t wait_ns_;
  uint16_t port_ = 0;
  Fd listener_;
  Fd epoll_;
  std::deque<Fd> sockets_;
  std::deque<Due> due_;
  std::atomic<bool> ended_ = false;
  clockid_t clock_ = 0;
  std::thread thread_;  // last: it uses all of these
};

// Sends from each client in turn, evenly over one wait, and then again as each is answered.
template <class Client>
class Run {
 public:
  Run(const Load& load, std::vector<std::unique_ptr<Client>> clients)
      : load_(load), clients_(std::move(clients)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), sent_ns_(clients_.size()) {
    for (size_t i = 0; i < clients_.size(); ++i) watch(epoll_.get(), clients_[i]->fd(), i);
  }

  template <class CpuNs>
  void measure(CpuNs cpu_ns) {
    int64_t wait_ns = int64_t{load_.wait_ms} * 1'000'000;
    int64_t begin = monotonic_ns();
    for (size_t i = 0; i < clients_.size(); ++i) {
      send(i);
      run_until(begin + wait_ns * static_cast<int64_t>(i + 1) / static_cast<int64_t>(clients_.size()));
    }
    run_until(monotonic_ns() + load_.warm_up_s * 1'000'000'000);
    answers_ = 0;
    late_ = {};
    int64_t cpu = cpu_ns();
    int64_t started = monotonic_ns();
    run_until(started + load_.seconds * 1'000'000'000);
    cpu = cpu_ns() - cpu;
    double seconds = static_cast<double>(monotonic_ns() - started) / 1e9;
    for (auto& client : clients_) client->end_session();
    errno = 0;
    if (answers_ == 0) fail("no answers");
    fmt::print(R"({{"consumers": {}, "answers_per_s": {:.0f}, "cpu_us_per_answer": {:.3f}, )"
               R"("cores": {:.4f}, "request_bytes": {}, "answer_bytes": {}, "late_us": {}}})"
               "\n",
               clients_.size(), static_cast<double>(answers_) / seconds,
               static_cast<double>(cpu) / 1e3 / static_cast<double>(answers_),
               static_cast<double>(cpu) / 1e9 / seconds, clients_[0]->request_bytes, clients_[0]->answer_bytes,
               late_.json_us());
  }

 private:
  void send(size_t client) {
    sent_ns_[client] = monotonic_ns();
    clients_[client]->send();
  }
  void run_until(int64_t end_ns) {
    std::array<epoll_event, kEvents> events;
    for (int64_t left; (left = end_ns - monotonic_ns()) > 0;) {
      int timeout = static_cast<int>(std::min<int64_t>((left + 999'999) / 1'000'000, kStalledMs));
      int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, timeout);
      for (int i = 0; i < count; ++i) {
        size_t client = events[static_cast<size_t>(i)].data.u64;
        clients_[client]->receive();
        // How much later than the wait it asked for.
        late_.add_ns(std::max<int64_t>(monotonic_ns() - sent_ns_[client] - int64_t{load_.wait_ms} * 1'000'000, 0));
        ++answers_;
        send(client);
      }
    }
  }

  Load load_;
  std::vector<std::unique_ptr<Client>> clients_;
  Fd epoll_;
  std::vector<int64_t> sent_ns_;
  Percentiles late_;
  int64_t answers_ = 0;
};

void against_broker(Options& options, const Load& load) {
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  int64_t pid = options.number("--pid", 0);
  std::string name = options.text("--topic", "long-poll");
  options.done();
  Topic topic = KafkaClient(port).create_topic(name, 1, {});
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (size_t i = 0; i < load.consumers; ++i)
    consumers.push_back(std::make_unique<Consumer>(port, topic, load.wait_ms));
  Run<Consumer>(load, std::move(consumers)).measure([pid] { return process_cpu_ns(pid); });
  KafkaClient(port).delete_topic(topic);
}

void bare(Options& options, const Load& load) {
  size_t request = static_cast<size_t>(options.number("--request-bytes", 60));
  size_t answer = static_cast<size_t>(options.number("--answer-bytes", 30));
  options.done();
  errno = 0;
  if (std::max(request, answer) > kLargestMessage) fail("messages of at most 4096 bytes");
  Responder responder(request, answer, load.wait_ms);
  std::vector<std::unique_ptr<BareClient>> clients;
  for (size_t i = 0; i < load.consumers; ++i)
    clients.push_back(std::make_unique<BareClient>(responder.port(), request, answer));
  Run<BareClient>(load, std::move(clients)).measure([&] { return responder.cpu_ns(); });
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  errno = 0;
  if (argc < 2) fail("usage: long_poll broker|bare ...");
  std::string mode = argv[1];
  Options options(argc - 1, argv + 1);
  Load load{.consumers = static_cast<size_t>(std::max<int64_t>(options.number("--consumers", 1000), 1)),
            .wait_ms = static_cast<int32_t>(options.number("--wait-ms", 500)),
            .seconds = options.number("--seconds", 10),
            .warm_up_s = options.number("--warm-up-s", 2)};
  raise_descriptor_limit();
  if (mode == "broker")
    against_broker(options, load);
  else if (mode == "bare")
    bare(options, load);
  else
    fail("broker or bare wanted");
}
