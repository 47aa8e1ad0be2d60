#include "reactor/buffer_pool.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/reactor/backends.h"

namespace pelton {
namespace {

constexpr size_t kKiB = 1024;

struct BufferPoolTest : testing::Test {
  test::PollIo io;
  Loop loop{io};
};

TEST_F(BufferPoolTest, BuffersAreAtLeastAsLargeAsAsked) {
  BufferPool pool(loop, 1 << 30, 0);
  for (size_t size : {size_t{1}, 64 * kKiB, 64 * kKiB + 1, 100 * kKiB, 3000 * kKiB}) {
    auto buffer = pool.acquire(size);
    ASSERT_TRUE(buffer);
    ASSERT_GE(buffer->bytes().size(), size);
    EXPECT_LT(buffer->bytes().size(), 2 * size + BufferPool::kSmallest);
    std::memset(buffer->bytes().data(), 1, buffer->bytes().size());
    EXPECT_EQ(pool.used_bytes(), buffer->bytes().size());
  }
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_FALSE(pool.acquire(BufferPool::kLargest + 1));
}

TEST_F(BufferPoolTest, KeepsWithinItsCapAndReuses) {
  BufferPool pool(loop, 1 << 30, 128 * kKiB);
  {
    auto a = pool.acquire(64 * kKiB), b = pool.acquire(64 * kKiB), c = pool.acquire(64 * kKiB);
    std::memset(a->bytes().data(), 7, 1);
    std::memset(b->bytes().data(), 7, 1);
    std::memset(c->bytes().data(), 7, 1);
  }
  EXPECT_EQ(pool.kept_bytes(), 128 * kKiB);
  // Fresh memory is zero: a 7 shows that the same memory came back.
  auto again = pool.acquire(1);
  EXPECT_EQ(again->bytes()[0], 7);
  EXPECT_EQ(pool.kept_bytes(), 64 * kKiB);
  EXPECT_EQ(pool.used_bytes(), 64 * kKiB);
}

TEST_F(BufferPoolTest, StopsAtItsLimitAndCallsWhoWaits) {
  BufferPool pool(loop, 128 * kKiB, 0);
  auto a = pool.acquire(64 * kKiB), b = pool.acquire(64 * kKiB);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(pool.acquire(1));
  test::Results first, second;
  BufferWaiter one(first.completion()), two(second.completion());
  pool.wait(one);
  pool.wait(two);
  a->reset();
  EXPECT_TRUE(first.empty()) << "not inside the release";
  loop.run_turn(false);
  // The second too: nobody says that the first takes what was released.
  EXPECT_EQ(first.list.size(), 1u);
  EXPECT_EQ(second.list.size(), 1u);
  b->reset();
  loop.run_turn(false);
  EXPECT_EQ(first.list.size() + second.list.size(), 2u) << "once for each wait";
}

TEST_F(BufferPoolTest, AWaiterThatDiesLeavesTheLine) {
  BufferPool pool(loop, 64 * kKiB, 0);
  auto a = pool.acquire(1);
  test::Results results;
  {
    BufferWaiter gone(results.completion());
    pool.wait(gone);
  }
  a->reset();
  loop.run_turn(false);
  EXPECT_TRUE(results.empty());
}

TEST_F(BufferPoolTest, MovesKeepOneOwner) {
  BufferPool pool(loop, 1 << 20, 0);
  Buffer a = *pool.acquire(1);
  Buffer b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_TRUE(b);
  b = *pool.acquire(1);
  EXPECT_EQ(pool.used_bytes(), BufferPool::kSmallest);
}

}  // namespace
}  // namespace pelton
