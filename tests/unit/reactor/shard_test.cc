#include "reactor/shard.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "reactor/mailbox.h"
#include "reactor/uring_io.h"
#include "tests/support/poll_io.h"

namespace pelton {
namespace {

struct Note {
  Note(std::vector<int>& to, int with)
      : log(to), number(with), message(Message::bind<&Note::deliver>(this)) {}
  void deliver(Shard& here) {
    log.push_back(number);
    at = here.id();
    if (again && --again > 0) here.send(here.id(), message);
  }
  std::vector<int>& log;
  int number;
  ShardId at = 999;
  int again = 0;
  Message message;
};

// Two shards turned by the test's own thread, as in simulation.
struct TwoShards : testing::Test {
  test::PollIo io0, io1;
  Mailboxes boxes{2, 4};
  Shard zero{0, io0, boxes};
  Shard one{1, io1, boxes};
  std::vector<int> log;
};

TEST_F(TwoShards, AMessageArrivesOnTheOtherShard) {
  Note note(log, 1);
  zero.send(1, note.message);
  EXPECT_TRUE(log.empty());
  EXPECT_TRUE(one.loop().run_turn(true));
  EXPECT_EQ(log, std::vector<int>{1});
  EXPECT_EQ(note.at, 1);
  EXPECT_EQ(zero.messages_sent(), 1u);
  EXPECT_EQ(one.messages_sent(), 0u);
}

TEST_F(TwoShards, AMessageToItselfIsDeliveredLater) {
  Note note(log, 1);
  note.again = 2;
  zero.send(0, note.message);
  EXPECT_TRUE(log.empty());
  zero.loop().run_turn(true);
  EXPECT_EQ(log, std::vector<int>{1}) << "sent again from its own delivery: a turn later";
  zero.loop().run_turn(true);
  EXPECT_EQ(log, (std::vector<int>{1, 1}));
  EXPECT_EQ(zero.messages_sent(), 0u);
}

TEST_F(TwoShards, AFullRingKeepsOrder) {
  std::deque<Note> notes;
  for (int i = 0; i < 50; ++i) notes.emplace_back(log, i);
  for (int i = 0; i < 30; ++i) zero.send(1, notes[static_cast<size_t>(i)].message);
  zero.loop().run_turn(false);  // still full: the rest stays
  EXPECT_EQ(log.size(), 0u);
  one.loop().run_turn(false);
  EXPECT_EQ(log.size(), 4u);
  // There is room in the ring now, but older ones wait: the new ones must queue behind them.
  for (int i = 30; i < 50; ++i) zero.send(1, notes[static_cast<size_t>(i)].message);
  for (int turn = 0; turn < 100 && log.size() < 50; ++turn) {
    zero.loop().run_turn(true);  // must not sleep while its overflow waits
    one.loop().run_turn(false);
  }
  ASSERT_EQ(log.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(log[static_cast<size_t>(i)], i);
}

TEST_F(TwoShards, MessagesFromOutsideAreDeliveredInOrderAndWake) {
  Note first(log, 1), second(log, 2), third(log, 3);
  one.send_from_outside(first.message);
  one.send_from_outside(second.message);
  one.loop().run_turn(true);  // would sleep for ever without the wake
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  one.send_from_outside(third.message);
  one.send_from_outside(first.message);  // delivered before: may be sent again
  one.loop().run_turn(true);
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3, 1}));
}

TEST_F(TwoShards, ManyThreadsMaySendFromOutside) {
  constexpr int kEach = 500;
  std::vector<std::unique_ptr<Note>> notes;
  for (int i = 0; i < 4 * kEach; ++i) notes.push_back(std::make_unique<Note>(log, i));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) one.send_from_outside(notes[static_cast<size_t>(t * kEach + i)]->message);
    });
  }
  while (log.size() < notes.size()) one.loop().run_turn(true);
  for (std::thread& thread : threads) thread.join();
  // Each thread's own messages kept their order.
  std::vector<int> next(4, 0);
  for (int note : log) EXPECT_EQ(note % kEach, next[static_cast<size_t>(note / kEach)]++);
}

// A message that travels between two threads and counts its hops.
struct Ball {
  explicit Ball(int with) : hops_left(with), message(Message::bind<&Ball::deliver>(this)) {}
  void deliver(Shard& here) {
    ++visits[here.id()];
    if (--hops_left > 0) return here.send(static_cast<ShardId>(1 - here.id()), message);
    here.loop().stop();
    // The other shard sleeps: tell it to stop too.
    here.send(static_cast<ShardId>(1 - here.id()), stop);
  }
  void stop_here(Shard& here) { here.loop().stop(); }
  int hops_left;
  int visits[2] = {0, 0};
  Message message;
  Message stop = Message::bind<&Ball::stop_here>(this);
};

template <class MakeIo>
void play(MakeIo make_io, int hops) {
  auto io0 = make_io();
  auto io1 = make_io();
  Mailboxes boxes(2, 4);
  Shard zero(0, *io0, boxes), one(1, *io1, boxes);
  Ball ball(hops);
  zero.send(1, ball.message);
  std::unique_ptr<ShardThreads> threads;
  ASSERT_TRUE(ShardThreads::start({&zero, &one}, true, threads));
  threads->join();
  EXPECT_EQ(ball.visits[0] + ball.visits[1], hops);
  EXPECT_EQ(ball.visits[1], (hops + 1) / 2);
}

TEST(ShardThreads, PlayBallOverPoll) {
  play([] { return std::make_unique<test::PollIo>(); }, 2000);
}

TEST(ShardThreads, PlayBallOverUring) {
  play([] { return std::move(UringIo::create().value()); }, 2000);
}

struct Look {
  void deliver(Shard& here) {
    char text[32];
    ::pthread_getname_np(::pthread_self(), text, sizeof text);
    name = text;
    cpu_set_t mask;
    ::pthread_getaffinity_np(::pthread_self(), sizeof mask, &mask);
    cores = CPU_COUNT(&mask);
    here.loop().stop();
  }
  std::string name;
  int cores = 0;
  Message message = Message::bind<&Look::deliver>(this);
};

TEST(ShardThreads, AreNamedAndPinned) {
  test::PollIo io;
  Mailboxes boxes(1);
  Shard shard(0, io, boxes);
  Look look;
  shard.send(0, look.message);
  std::unique_ptr<ShardThreads> threads;
  ASSERT_TRUE(ShardThreads::start({&shard}, true, threads));
  threads->join();
  EXPECT_EQ(look.name, "shard-0");
  EXPECT_EQ(look.cores, 1);
}

}  // namespace
}  // namespace pelton
