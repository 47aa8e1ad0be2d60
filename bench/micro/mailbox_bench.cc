// One hop of a message between two shards: the bare ring, two spinning loops, two sleeping loops.
#include <atomic>
#include <memory>
#include <thread>

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include "reactor/mailbox.h"
#include "reactor/uring_io.h"

namespace pelton {
namespace {

void pin_here(int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  ::pthread_setaffinity_np(::pthread_self(), sizeof mask, &mask);
}

// Restores the affinity of the benchmark's thread.
class Pinned {
 public:
  explicit Pinned(int core) {
    ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_);
    pin_here(core);
  }
  ~Pinned() { ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

struct Ball {
  void deliver(Shard& here) {
    if (here.id() == 1) return here.send(0, message);
    back = true;
  }
  Message message = Message::bind<&Ball::deliver>(this);
  bool back = false;
};

void report_hop(benchmark::State& state) {
  using Counter = benchmark::Counter;
  state.counters["hop"] =
      Counter(2.0 * static_cast<double>(state.iterations()), Counter::kIsRate | Counter::kInvert);
}

void mailbox_hop_ring(benchmark::State& state) {
  MailRing there(256), back(256);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    pin_here(1);
    while (!stop.load(std::memory_order_relaxed))
      if (Message* message = there.pop()) back.push(*message);
  });
  Pinned pinned(0);
  Ball ball;
  for (auto _ : state) {
    there.push(ball.message);
    while (back.pop() == nullptr) {
    }
  }
  stop = true;
  other.join();
  report_hop(state);
}
BENCHMARK(mailbox_hop_ring)->UseRealTime();

void hop(benchmark::State& state, bool wait) {
  auto io0 = std::move(UringIo::create().value());
  auto io1 = std::move(UringIo::create().value());
  Mailboxes boxes(2);
  Shard zero(0, *io0, boxes), one(1, *io1, boxes);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    pin_here(1);
    while (!stop.load(std::memory_order_relaxed)) one.loop().run_turn(wait);
  });
  Pinned pinned(0);
  Ball ball;
  for (auto _ : state) {
    ball.back = false;
    zero.send(1, ball.message);
    while (!ball.back) zero.loop().run_turn(wait);
  }
  stop = true;
  io1->wake();
  other.join();
  report_hop(state);
}
void mailbox_hop_spinning(benchmark::State& state) { hop(state, false); }
void mailbox_hop_sleeping(benchmark::State& state) { hop(state, true); }
BENCHMARK(mailbox_hop_spinning)->UseRealTime();
BENCHMARK(mailbox_hop_sleeping)->UseRealTime();

}  // namespace
}  // namespace pelton
