#include "reactor/timer_wheel.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pelton {
namespace {

constexpr uint64_t kMs = TimerWheel::kTickNs;
constexpr uint64_t kStart = 123'456'789'012'345;

struct Waiter {
  Waiter() : timer(Timer::bind<&Waiter::fire>(this)) {}
  void fire() {
    ++fired;
    if (on_fire) on_fire(*this);
  }
  Timer timer;
  int fired = 0;
  void (*on_fire)(Waiter&) = nullptr;
  TimerWheel* wheel = nullptr;
  Waiter* other = nullptr;
  uint64_t next = 0;
};

TEST(TimerWheel, FiresAtTheFirstTickAfterTheDeadline) {
  TimerWheel wheel(0);
  Waiter one;
  wheel.start(one.timer, 5 * kMs + 1);
  EXPECT_EQ(wheel.advance(5 * kMs + 999'999), 0);
  EXPECT_TRUE(one.timer.active());
  EXPECT_EQ(wheel.advance(6 * kMs), 1);
  EXPECT_EQ(one.fired, 1);
  EXPECT_FALSE(one.timer.active());
  EXPECT_EQ(wheel.advance(1000 * kMs), 0);
}

TEST(TimerWheel, AnExactTickFiresOnIt) {
  TimerWheel wheel(0);
  Waiter one;
  wheel.start(one.timer, 64 * kMs);
  EXPECT_EQ(wheel.advance(63 * kMs), 0);
  EXPECT_EQ(wheel.advance(64 * kMs), 1);
}

TEST(TimerWheel, APastDeadlineFiresAtTheNextTick) {
  TimerWheel wheel(kStart);
  Waiter one;
  wheel.start(one.timer, 0);
  EXPECT_EQ(wheel.advance(kStart), 0);
  EXPECT_EQ(wheel.advance(kStart + kMs), 1);
}

TEST(TimerWheel, CancelAndDestroyStopATimer) {
  TimerWheel wheel(kStart);
  Waiter one;
  {
    Waiter gone;
    wheel.start(gone.timer, kStart + kMs);
    wheel.start(one.timer, kStart + kMs);
  }
  wheel.cancel(one.timer);
  wheel.cancel(one.timer);
  EXPECT_EQ(wheel.advance(kStart + 100 * kMs), 0);
  EXPECT_EQ(wheel.next_ns(), std::nullopt);
}

TEST(TimerWheel, StartMovesARunningTimer) {
  TimerWheel wheel(kStart);
  Waiter one;
  wheel.start(one.timer, kStart + 3 * kMs);
  wheel.start(one.timer, kStart + 300 * kMs);
  EXPECT_EQ(wheel.advance(kStart + 200 * kMs), 0);
  EXPECT_EQ(wheel.advance(kStart + 301 * kMs), 1);
}

TEST(TimerWheel, AFiringTimerMayRestartItselfAndCancelItsNeighbour) {
  TimerWheel wheel(0);
  Waiter first, second;
  first.wheel = &wheel;
  first.other = &second;
  first.on_fire = [](Waiter& self) {
    self.wheel->cancel(self.other->timer);
    self.wheel->start(self.timer, 2 * kMs);
  };
  wheel.start(first.timer, kMs);
  wheel.start(second.timer, kMs);
  EXPECT_EQ(wheel.advance(kMs), 1);
  EXPECT_EQ(second.fired, 0);
  EXPECT_TRUE(first.timer.active());
  first.on_fire = nullptr;
  EXPECT_EQ(wheel.advance(2 * kMs), 1);
  EXPECT_EQ(first.fired, 2);
}

TEST(TimerWheel, ATimerFiredInASlotMayUseTheSameSlotAgain) {
  TimerWheel wheel(0);
  Waiter one;
  one.wheel = &wheel;
  one.on_fire = [](Waiter& self) { self.wheel->start(self.timer, 65 * kMs); };
  wheel.start(one.timer, kMs);
  EXPECT_EQ(wheel.advance(kMs), 1);
  EXPECT_EQ(wheel.advance(64 * kMs), 0);
  EXPECT_EQ(wheel.advance(65 * kMs), 1);
}

TEST(TimerWheel, DeadlinesPastTheSpanAreKept) {
  TimerWheel wheel(kStart);
  Waiter far, never;
  uint64_t year = 365ull * 24 * 3600 * 1000 * kMs;
  wheel.start(far.timer, kStart + year);
  wheel.start(never.timer, UINT64_MAX);
  EXPECT_EQ(wheel.advance(kStart + year - kMs), 0);
  EXPECT_EQ(wheel.advance(kStart + year + kMs), 1);
  EXPECT_EQ(far.fired, 1);
  EXPECT_TRUE(never.timer.active());
}

TEST(TimerWheel, NextIsNeverLaterThanTheDeadlineAndReachesIt) {
  for (uint64_t distance : {1ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 262'144ull, 1ull << 31}) {
    TimerWheel wheel(kStart);
    Waiter one;
    uint64_t deadline = kStart + distance * kMs;
    wheel.start(one.timer, deadline);
    int steps = 0;
    while (one.fired == 0 && ++steps < 20) {
      auto next = wheel.next_ns();
      ASSERT_TRUE(next);
      ASSERT_LE(*next, deadline + kMs);
      wheel.advance(*next);
    }
    EXPECT_EQ(one.fired, 1) << distance;
  }
}

// A naive model: a list of (deadline, timer); every step compares what fired with what was due.
class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed), now_(kStart), wheel_(kStart), timers_(400) {}

  void step() {
    Waiter& waiter = timers_[random_() % timers_.size()];
    switch (random_() % 4) {
      case 0: wheel_.cancel(waiter.timer); break;
      case 1: advance(); break;
      default: wheel_.start(waiter.timer, deadline()); break;
    }
  }

  size_t fired() const { return fired_; }

 private:
  uint64_t deadline() {
    uint64_t bits = random_() % 52;  // up to 52 days and beyond the span
    uint64_t distance = random_() >> (63 - bits);
    return random_() % 8 == 0 ? now_ - distance % kStart : now_ + distance;
  }

  void advance() {
    uint64_t bits = random_() % 50;
    uint64_t before = now_ / kMs;
    now_ += random_() >> (63 - bits);
    uint64_t tick = now_ / kMs;
    std::vector<int> counts;
    std::vector<bool> due;
    std::optional<uint64_t> first;
    for (Waiter& waiter : timers_) {
      counts.push_back(waiter.fired);
      uint64_t deadline = waiter.timer.deadline_ns();
      uint64_t due_tick = std::max((deadline + kMs - 1) / kMs, before + 1);
      bool active = waiter.timer.active();
      due.push_back(active && due_tick <= tick);
      if (active && (!first || due_tick < *first)) first = due_tick;
    }
    auto next = wheel_.next_ns();
    ASSERT_EQ(next.has_value(), first.has_value());
    if (first) {
      ASSERT_LE(*next, *first * kMs);
    }
    wheel_.advance(now_);
    for (size_t i = 0; i < timers_.size(); ++i) {
      ASSERT_EQ(timers_[i].fired - counts[i], due[i] ? 1 : 0) << "timer " << i;
      fired_ += due[i] ? 1 : 0;
    }
  }

  std::mt19937_64 random_;
  uint64_t now_;
  TimerWheel wheel_;
  std::deque<Waiter> timers_;
  size_t fired_ = 0;
};

TEST(TimerWheel, AgreesWithANaiveModel) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Model model(seed);
    for (int i = 0; i < 2000 && !testing::Test::HasFatalFailure(); ++i) model.step();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    EXPECT_GT(model.fired(), 50u);
  }
}

}  // namespace
}  // namespace pelton
