#include "reactor/helper_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "reactor/mailbox.h"
#include "tests/support/poll_io.h"

namespace pelton {
namespace {

struct Context final : HelperContext {
  explicit Context(const std::atomic<bool>& its_stopping) : stopping(its_stopping) {}
  const std::atomic<bool>& stopping;
};
std::unique_ptr<HelperContext> make_context(const std::atomic<bool>& stopping) {
  return std::make_unique<Context>(stopping);
}

// A job that notes where it ran and can be held.
struct Job {
  void work(HelperContext& context) {
    worked_on = std::this_thread::get_id();
    begun = true;
    while (held && !static_cast<Context&>(context).stopping) std::this_thread::yield();
    seen_stopping = static_cast<Context&>(context).stopping;
  }
  void done(Shard& here) {
    done_on = &here;
    if (order != nullptr) order->push_back(number);
  }

  std::thread::id worked_on;
  std::atomic<bool> begun{false};
  std::atomic<bool> held{false};
  bool seen_stopping = false;
  Shard* done_on = nullptr;
  std::vector<int>* order = nullptr;
  int number = 0;
  HelperJob job = HelperJob::bind<&Job::work, &Job::done>(this);
};

struct Helpers : testing::Test {
  test::PollIo zero_io, one_io;
  Mailboxes mailboxes{2};
  Shard zero{0, zero_io, mailboxes}, one{1, one_io, mailboxes};

  void turn_until_done(std::initializer_list<Job*> jobs) {
    for (Job* job : jobs) {
      while (job->done_on == nullptr) {
        zero.loop().run_turn(false);
        one.loop().run_turn(false);
      }
    }
  }
  static void wait_begun(Job& job) {
    while (!job.begun) std::this_thread::yield();
  }
};

TEST_F(Helpers, WorkRunsElsewhereAndEndsAtHome) {
  HelperThreads helpers({}, &make_context);
  Job a, b;
  ASSERT_TRUE(helpers.submit(zero, a.job, 0));
  ASSERT_TRUE(helpers.submit(one, b.job, 0));
  turn_until_done({&a, &b});
  EXPECT_NE(a.worked_on, std::this_thread::get_id());
  EXPECT_EQ(a.worked_on, b.worked_on);
  EXPECT_EQ(a.done_on, &zero);
  EXPECT_EQ(b.done_on, &one);
}

TEST_F(Helpers, JobsBeginInOrder) {
  HelperThreads helpers({}, &make_context);
  std::vector<int> order;
  std::deque<Job> jobs(100);
  for (int i = 0; i < 100; ++i) {
    jobs[static_cast<size_t>(i)].order = &order;
    jobs[static_cast<size_t>(i)].number = i;
    ASSERT_TRUE(helpers.submit(zero, jobs[static_cast<size_t>(i)].job, 0));
  }
  turn_until_done({&jobs.back()});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(Helpers, TooManyAreRefused) {
  HelperThreads helpers({.threads = 1, .queue_limit = 2}, &make_context);
  Job running, first, second, third;
  running.held = true;
  ASSERT_TRUE(helpers.submit(zero, running.job, 0));
  wait_begun(running);
  EXPECT_TRUE(helpers.submit(zero, first.job, 0));
  EXPECT_TRUE(helpers.submit(zero, second.job, 0));
  EXPECT_FALSE(helpers.submit(zero, third.job, 0));
  running.held = false;
  turn_until_done({&running, &first, &second});
  EXPECT_TRUE(helpers.submit(zero, third.job, 0));
  turn_until_done({&third});
}

TEST_F(Helpers, BytesAreBounded) {
  HelperThreads helpers({.threads = 2, .queue_limit = 10, .byte_limit = 100}, &make_context);
  Job large, small, last;
  ASSERT_TRUE(helpers.submit(zero, large.job, 1000));  // alone it may
  turn_until_done({&large});
  ASSERT_TRUE(helpers.submit(zero, small.job, 50));
  ASSERT_TRUE(helpers.submit(zero, last.job, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(small.begun);
  EXPECT_FALSE(last.begun) << "it would pass an earlier one";
  helpers.release(1000);
  turn_until_done({&small, &last});
  Job more;
  ASSERT_TRUE(helpers.submit(zero, more.job, 51));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(more.begun);
  helpers.release(20);
  turn_until_done({&more});
}

TEST_F(Helpers, StoppingReachesTheWork) {
  HelperThreads helpers({}, &make_context);
  Job job;
  job.held = true;
  ASSERT_TRUE(helpers.submit(zero, job.job, 0));
  wait_begun(job);
  helpers.stop();
  turn_until_done({&job});
  EXPECT_TRUE(job.seen_stopping);
}

TEST_F(Helpers, TheEndDropsWhatWaits) {
  Job running, waiting;
  {
    HelperThreads helpers({}, &make_context);
    running.held = true;
    ASSERT_TRUE(helpers.submit(zero, running.job, 0));
    wait_begun(running);
    ASSERT_TRUE(helpers.submit(zero, waiting.job, 0));
    helpers.stop();
  }
  EXPECT_FALSE(waiting.job.is_linked());
  zero.loop().run_turn(false);
  EXPECT_EQ(running.done_on, &zero);
}

TEST_F(Helpers, WithoutThreadsTheLoopWorks) {
  HelperThreads helpers({.threads = 0}, &make_context);
  Job a, b;
  ASSERT_TRUE(helpers.submit(zero, a.job, 10));
  ASSERT_TRUE(helpers.submit(one, b.job, 10));
  EXPECT_FALSE(a.begun) << "never inside the call";
  turn_until_done({&a, &b});
  EXPECT_EQ(a.worked_on, std::this_thread::get_id());
  EXPECT_EQ(a.done_on, &zero);
  EXPECT_EQ(b.done_on, &one);
}

}  // namespace
}  // namespace pelton
