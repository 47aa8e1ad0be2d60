// Cancel and start of one timer while many others run.
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "reactor/timer_wheel.h"

namespace pelton {
namespace {

struct Waiter {
  void fire() {}
  Timer timer = Timer::bind<&Waiter::fire>(this);
};

constexpr uint64_t kRange = 30'000'000'000;  // deadlines up to 30 s ahead
constexpr size_t kDraws = 1 << 16;

// Deadlines and victims drawn before, so that the generator is not measured.
struct Draws {
  Draws(size_t timers, std::mt19937_64& random) {
    for (size_t i = 0; i < kDraws; ++i) {
      victims.push_back(static_cast<uint32_t>(random() % timers));
      distances.push_back(random() % kRange);
    }
  }
  std::vector<uint32_t> victims;
  std::vector<uint64_t> distances;
};

void wheel_cancel_insert(benchmark::State& state) {
  auto live = static_cast<size_t>(state.range(0));
  std::mt19937_64 random(1);
  Draws draws(live, random);
  TimerWheel wheel(0);
  std::vector<Waiter> waiters(live);
  for (Waiter& waiter : waiters) wheel.start(waiter.timer, random() % kRange);
  size_t at = 0;
  for (auto _ : state) {
    Timer& timer = waiters[draws.victims[at]].timer;
    wheel.cancel(timer);
    wheel.start(timer, draws.distances[at]);
    at = (at + 1) % kDraws;
  }
}
BENCHMARK(wheel_cancel_insert)->Arg(1'000)->Arg(100'000);

// The same while time goes on: a tick for every 100 restarts, so that slots cascade and fire; what
// fires is started again.
void wheel_cancel_insert_ticking(benchmark::State& state) {
  auto live = static_cast<size_t>(state.range(0));
  std::mt19937_64 random(1);
  Draws draws(live, random);
  TimerWheel wheel(0);
  std::vector<Waiter> waiters(live);
  for (Waiter& waiter : waiters) wheel.start(waiter.timer, random() % kRange);
  size_t at = 0;
  uint64_t now = 0;
  for (auto _ : state) {
    Timer& timer = waiters[draws.victims[at]].timer;
    wheel.cancel(timer);
    wheel.start(timer, now + draws.distances[at]);
    at = (at + 1) % kDraws;
    if (at % 100 == 0) wheel.advance(now += TimerWheel::kTickNs);
  }
}
BENCHMARK(wheel_cancel_insert_ticking)->Arg(100'000);

}  // namespace
}  // namespace pelton
