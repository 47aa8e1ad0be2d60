#include "reactor/mailbox.h"

#include <atomic>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/poll_io.h"

namespace pelton {
namespace {

struct Item {
  explicit Item(uint64_t with) : number(with), message(Message::bind<&Item::deliver>(this)) {}
  void deliver(Shard&) {}
  uint64_t number;
  Message message;
};

TEST(MailRing, KeepsOrderAndIsBounded) {
  MailRing ring(4);
  std::deque<Item> items;
  for (uint64_t i = 0; i < 6; ++i) items.emplace_back(i);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.pop(), nullptr);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(items[i].message));
  EXPECT_FALSE(ring.push(items[4].message));
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(ring.pop(), &items[0].message);
  EXPECT_TRUE(ring.push(items[4].message));
  EXPECT_FALSE(ring.push(items[5].message));
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(ring.pop(), &items[i].message);
  EXPECT_EQ(ring.pop(), nullptr);
}

TEST(MailRing, CarriesWhatTheSenderWroteAcrossThreads) {
  constexpr uint64_t kCount = 100'000;
  MailRing ring(64);
  std::deque<Item> items;
  for (uint64_t i = 0; i < kCount; ++i) items.emplace_back(0);
  std::thread producer([&] {
    for (uint64_t i = 0; i < kCount; ++i) {
      items[i].number = i + 1;  // plain writes: the ring must publish them
      while (!ring.push(items[i].message)) std::this_thread::yield();
    }
  });
  for (uint64_t i = 0; i < kCount;) {
    Message* message = ring.pop();
    if (message == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(message, &items[i].message);
    ASSERT_EQ(items[i].number, i + 1);
    ++i;
  }
  producer.join();
}

class CountingIo final : public test::PollIo {
 public:
  void wake() override { ++wakes; }
  std::atomic<int> wakes{0};
};

TEST(Mailboxes, WakesASleeperOnce) {
  CountingIo io;
  Mailboxes boxes(2);
  boxes.attach(1, io);
  Item a(1), b(2);
  boxes.push(0, 1, a.message);
  boxes.wake_if_asleep(1);
  EXPECT_EQ(io.wakes, 0);
  EXPECT_FALSE(boxes.prepare_sleep(1)) << "mail is there";
  EXPECT_NE(boxes.pop(0, 1), nullptr);
  EXPECT_TRUE(boxes.prepare_sleep(1));
  boxes.push(0, 1, b.message);
  boxes.wake_if_asleep(1);
  boxes.wake_if_asleep(1);
  EXPECT_EQ(io.wakes, 1);
}

// The consumer sleeps for real (poll) whenever the protocol allows it; a lost wake hangs the test.
TEST(Mailboxes, NoWakeIsLost) {
  constexpr int kCount = 20'000;
  test::PollIo io;
  Mailboxes boxes(2, 8);
  boxes.attach(1, io);
  std::deque<Item> items;
  for (uint64_t i = 0; i < kCount; ++i) items.emplace_back(i);
  std::thread producer([&] {
    for (Item& item : items) {
      while (!boxes.push(0, 1, item.message)) std::this_thread::yield();
      boxes.wake_if_asleep(1);
    }
  });
  for (int taken = 0; taken < kCount;) {
    if (boxes.prepare_sleep(1)) {
      ReadyList ready;
      io.poll(ready, std::nullopt);
      boxes.awake(1);
    }
    while (boxes.pop(0, 1) != nullptr) ++taken;
  }
  producer.join();
}

}  // namespace
}  // namespace pelton
