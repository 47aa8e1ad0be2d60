#include "proto/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace pelton::proto {
namespace {

struct Item {
  int64_t number = 7;
  std::string_view text = "seven";
};

TEST(Arena, GivesInitialisedAlignedObjects) {
  Arena arena(10'000);
  (void)arena.array<uint8_t>(3);
  std::span<Item> items = arena.array<Item>(20);
  ASSERT_EQ(items.size(), 20u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(items.data()) % alignof(Item), 0u);
  for (const Item& item : items) {
    EXPECT_EQ(item.number, 7);
    EXPECT_EQ(item.text, "seven");
  }
  EXPECT_EQ(arena.make<Item>()->number, 7);
  EXPECT_TRUE(arena.array<Item>(0).empty());
}

TEST(Arena, ObjectsStayWhileItGrows) {
  Arena arena(1 << 20);
  std::span<uint32_t> first = arena.array<uint32_t>(10);
  for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<uint32_t>(i);
  for (int i = 0; i < 100; ++i)
    for (uint32_t& number : arena.array<uint32_t>(500)) number = ~0u;
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], i);
}

TEST(Arena, CopiesOutliveTheirSource) {
  Arena arena(1000);
  std::string source = "offsets";
  std::string_view copy = arena.copy(source);
  source.assign(source.size(), 'x');
  EXPECT_EQ(copy, "offsets");
  EXPECT_TRUE(arena.copy(Bytes()).empty());
}

TEST(Arena, TheLimitHolds) {
  Arena arena(100);
  EXPECT_EQ(arena.try_array<uint8_t>(100).size(), 100u);
  EXPECT_TRUE(arena.try_array<uint8_t>(1).empty());
  EXPECT_EQ(arena.try_make<uint8_t>(), nullptr);
  arena.reset(8);
  EXPECT_TRUE(arena.try_array<uint64_t>(SIZE_MAX / 4).empty()) << "the product would overflow";
  EXPECT_EQ(arena.try_array<uint64_t>(1).size(), 1u);
  EXPECT_TRUE(arena.try_array<uint8_t>(1).empty());
}

TEST(ArenaDeathTest, PastTheLimitIsABugForCallersThatDoNotAsk) {
  Arena arena(10);
  EXPECT_DEATH((void)arena.array<uint8_t>(11), "arena limit");
}

TEST(Arena, ASteadyStateAllocatesNothing) {
  Arena arena(200'000);
  auto request = [&arena] {
    arena.reset(200'000);
    for (int i = 0; i < 30; ++i) (void)arena.array<uint8_t>(1000 + 100 * static_cast<size_t>(i));
    return arena.reserved();
  };
  size_t reserved = request();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(request(), reserved);
}

TEST(Arena, OneHugeRequestIsNotKept) {
  Arena arena(8 << 20);
  (void)arena.array<uint8_t>(1000);
  (void)arena.array<uint8_t>(6 << 20);
  EXPECT_GE(arena.reserved(), size_t{6} << 20);
  arena.reset(1000);
  EXPECT_LE(arena.reserved(), size_t{256} * 1024);
}

TEST(Arena, LimitForFrames) {
  EXPECT_EQ(Arena::limit_for(0), 1024u * 1024);
  EXPECT_EQ(Arena::limit_for(1000), 1024u * 1024 + 8000);
  EXPECT_EQ(Arena::limit_for(100'000'000), 64u * 1024 * 1024);
  EXPECT_EQ(Arena::limit_for(SIZE_MAX), 64u * 1024 * 1024);
}

}  // namespace
}  // namespace pelton::proto
