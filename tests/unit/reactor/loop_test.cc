#include "reactor/loop.h"

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/poll_io.h"

namespace pelton {
namespace {

using testing::ElementsAre;

// A clock of the test's own; poll() never sleeps and notes how long it was allowed to.
class ClockIo final : public test::PollIo {
 public:
  uint64_t now_ns() override { return now; }
  void poll(ReadyList& ready, std::optional<uint64_t> deadline_ns) override {
    deadline = deadline_ns;
    PollIo::poll(ready, 0);
  }
  uint64_t now = 1'000'000'000;
  std::optional<uint64_t> deadline;
};

struct Task {
  Task(std::vector<std::string>& to, std::string with)
      : log(to), name(std::move(with)), done(Completion::bind<&Task::run>(this)) {}
  void run(int32_t) {
    log.push_back(name);
    if (then) then(*this);
  }
  std::vector<std::string>& log;
  std::string name;
  Completion done;
  void (*then)(Task&) = nullptr;
  Loop* loop = nullptr;
  TurnEnd* end = nullptr;
};

struct End {
  End(std::vector<std::string>& to, std::string with, int phase)
      : log(to), name(std::move(with)), end(TurnEnd::bind<&End::run>(this, phase)) {}
  void run() {
    log.push_back(name);
    if (other != nullptr && runs_left-- > 0) loop->at_turn_end(*other);
  }
  std::vector<std::string>& log;
  std::string name;
  TurnEnd end;
  Loop* loop = nullptr;
  TurnEnd* other = nullptr;
  int runs_left = 1;
};

struct LoopTest : testing::Test {
  ClockIo io;
  Loop loop{io};
  std::vector<std::string> log;
};

TEST_F(LoopTest, PostedTasksRunInOrderInTheNextTurn) {
  Task a(log, "a"), b(log, "b");
  loop.post(a.done);
  loop.post(b.done);
  EXPECT_TRUE(log.empty());
  EXPECT_TRUE(loop.run_turn(false));
  EXPECT_THAT(log, ElementsAre("a", "b"));
  EXPECT_FALSE(loop.run_turn(false));
}

TEST_F(LoopTest, ATaskPostedByATaskWaitsForTheNextTurn) {
  Task a(log, "a");
  a.loop = &loop;
  a.then = [](Task& self) {
    self.then = nullptr;
    self.loop->post(self.done);
  };
  loop.post(a.done);
  loop.run_turn(false);
  EXPECT_THAT(log, ElementsAre("a"));
  loop.run_turn(true);
  EXPECT_EQ(io.deadline, 0u) << "must not wait with a task at hand";
  EXPECT_THAT(log, ElementsAre("a", "a"));
}

TEST_F(LoopTest, ATurnRunsABoundedNumberOfCompletions) {
  std::deque<Task> tasks;
  for (int i = 0; i < 1500; ++i) tasks.emplace_back(log, std::to_string(i));
  for (Task& task : tasks) loop.post(task.done);
  loop.run_turn(false);
  size_t first = log.size();
  EXPECT_LT(first, 1500u);
  EXPECT_GT(first, 0u);
  loop.run_turn(true);
  ASSERT_EQ(log.size(), 1500u);
  for (int i = 0; i < 1500; ++i) EXPECT_EQ(log[static_cast<size_t>(i)], std::to_string(i));
}

TEST_F(LoopTest, TurnEndsRunByPhaseOnceForAnyNumberOfRequests) {
  End send(log, "send", kPhaseSend), write(log, "write", kPhaseWrite);
  End answer(log, "answer", kPhaseAnswer), mail(log, "mail", kPhaseMail);
  for (TurnEnd* end : {&mail.end, &send.end, &answer.end, &write.end, &send.end})
    loop.at_turn_end(*end);
  EXPECT_TRUE(loop.run_turn(false));
  EXPECT_THAT(log, ElementsAre("write", "answer", "send", "mail"));
  EXPECT_FALSE(loop.run_turn(false));
}

TEST_F(LoopTest, AnEarlierPhaseRequestedLateRunsInTheSameTurn) {
  End send(log, "send", kPhaseSend), write(log, "write", kPhaseWrite);
  send.loop = &loop;
  send.other = &write.end;
  loop.at_turn_end(send.end);
  loop.run_turn(false);
  EXPECT_THAT(log, ElementsAre("send", "write"));
}

TEST_F(LoopTest, EndlessTurnEndsAreCutAndGoOnInTheNextTurn) {
  End again(log, "x", kPhaseWrite);
  again.loop = &loop;
  again.other = &again.end;
  again.runs_left = 100;
  loop.at_turn_end(again.end);
  loop.run_turn(false);
  size_t first = log.size();
  EXPECT_LT(first, 50u);
  loop.run_turn(true);
  EXPECT_EQ(io.deadline, 0u);
  EXPECT_GT(log.size(), first);
}

TEST_F(LoopTest, OrderInATurn) {
  Task task(log, "task");
  End end(log, "end", kPhaseWrite);
  struct Mail {
    std::vector<std::string>& log;
  } mail{log};
  loop.set_mail(
      &mail, [](void* self) { return static_cast<Mail*>(self)->log.push_back("mail"), true; },
      [](void*) { return true; });
  struct Alarm {
    std::vector<std::string>& log;
    Timer timer = Timer::bind<&Alarm::fire>(this);
    void fire() { log.push_back("timer"); }
  } alarm{log};
  loop.timers().start(alarm.timer, io.now);
  io.now += 10 * TimerWheel::kTickNs;
  loop.at_turn_end(end.end);
  loop.post(task.done);
  loop.run_turn(false);
  EXPECT_THAT(log, ElementsAre("task", "mail", "timer", "end"));
}

TEST_F(LoopTest, WaitsForTheNextTimerOrForEver) {
  loop.run_turn(true);
  EXPECT_EQ(io.deadline, std::nullopt);
  struct Alarm {
    Timer timer = Timer::bind<&Alarm::fire>(this);
    void fire() {}
  } alarm;
  uint64_t deadline = io.now + 7 * TimerWheel::kTickNs;
  loop.timers().start(alarm.timer, deadline);
  loop.run_turn(true);
  ASSERT_TRUE(io.deadline);
  EXPECT_LE(*io.deadline, deadline);
  EXPECT_GT(*io.deadline, io.now);
  loop.run_turn(false);
  EXPECT_EQ(io.deadline, 0u);
}

TEST_F(LoopTest, AsksBeforeItWaits) {
  bool may = false;
  loop.set_mail(
      &may, [](void*) { return false; }, [](void* self) { return *static_cast<bool*>(self); });
  loop.run_turn(true);
  EXPECT_EQ(io.deadline, 0u);
  may = true;
  loop.run_turn(true);
  EXPECT_EQ(io.deadline, std::nullopt);
}

TEST_F(LoopTest, RunsUntilStopped) {
  Task task(log, "task");
  task.loop = &loop;
  task.then = [](Task& self) { self.loop->stop(); };
  loop.post(task.done);
  loop.run();
  EXPECT_TRUE(loop.stopped());
}

TEST(LoopShuffle, RunsEachCompletionOnceInVaryingOrder) {
  ClockIo io;
  Loop loop(io, true);
  std::set<std::vector<std::string>> orders;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> log;
    std::deque<Task> tasks;
    for (int i = 0; i < 8; ++i) tasks.emplace_back(log, std::to_string(i));
    for (Task& task : tasks) loop.post(task.done);
    loop.run_turn(false);
    EXPECT_THAT(log, testing::UnorderedElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
    orders.insert(log);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(CompletionDeathTest, DiesWhenDestroyedWhilePending) {
  EXPECT_DEATH(
      {
        std::vector<std::string> log;
        Task task(log, "task");
        task.done.mark_started();
      },
      "pending");
}

}  // namespace
}  // namespace pelton
