#include "broker/fetch/fetch_session.h"

#include <gtest/gtest.h>

namespace pelton::broker {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

SessionPartition partition(const char* topic, int32_t index) {
  SessionPartition made;
  made.topic = topic;
  made.index = index;
  return made;
}

TEST(FetchSessions, EpochsGoUpAndAreChecked) {
  FetchSessions sessions({10, 100}, {10, 100});
  auto session = sessions.create(42, 0, 1);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->id, 42);
  proto::ErrorCode error{};
  EXPECT_NE(sessions.resume(42, 1, false, 0, error), nullptr);
  EXPECT_NE(sessions.resume(42, 2, false, 0, error), nullptr);
  EXPECT_EQ(sessions.resume(42, 2, false, 0, error), nullptr);
  EXPECT_EQ(error, proto::ErrorCode::kInvalidFetchSessionEpoch);
  EXPECT_EQ(sessions.resume(43, 1, false, 0, error), nullptr);
  EXPECT_EQ(error, proto::ErrorCode::kFetchSessionIdNotFound);
  EXPECT_EQ(sessions.resume(42, 3, true, 0, error), nullptr);
  EXPECT_EQ(error, proto::ErrorCode::kFetchSessionTopicIdError);
}

TEST(FetchSessions, EpochWrapsToOne) {
  FetchSessions sessions({10, 100}, {10, 100});
  auto session = sessions.create(7, 0, 1);
  session->epoch = INT32_MAX;
  proto::ErrorCode error{};
  ASSERT_NE(sessions.resume(7, INT32_MAX, false, 0, error), nullptr);
  EXPECT_EQ(session->epoch, 1);
}

TEST(FetchSessions, IdsAreNeverZeroNorTaken) {
  FetchSessions sessions({10, 100}, {10, 100});
  EXPECT_EQ(sessions.create(0, 0, 1)->id, 1);
  EXPECT_EQ(sessions.create(1, 0, 1)->id, 2);
}

TEST(FetchSessions, OnlyAnIdleSessionIsEvicted) {
  FetchSessions sessions({2, 100}, {2, 100});
  sessions.create(1, 0, 1);
  sessions.create(2, 50 * kSecond, 1);
  EXPECT_EQ(sessions.create(3, 60 * kSecond, 1), nullptr);
  EXPECT_NE(sessions.create(4, 121 * kSecond, 1), nullptr);
  EXPECT_EQ(sessions.evictions(), 1u);
  proto::ErrorCode error{};
  EXPECT_EQ(sessions.resume(1, 1, false, 0, error), nullptr);
  EXPECT_NE(sessions.resume(2, 1, false, 0, error), nullptr);
}

TEST(FetchSessions, OneThatIsInUseIsNotHandedOver) {
  FetchSessions sessions({10, 100}, {10, 100});
  auto in_use = sessions.create(5, 0, 1);
  EXPECT_EQ(sessions.take(5), nullptr);
  EXPECT_EQ(sessions.size(), 1u);
  in_use.reset();
  auto taken = sessions.take(5);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->id, 5);
  EXPECT_EQ(sessions.size(), 0u);
}

TEST(FetchSessions, OneThatMovesInIsKeptUpToTheTotal) {
  FetchSessions here({1, 2}, {2, 4}), elsewhere({1, 2}, {2, 4});
  here.create(1, 0, 1)->add(partition("t", 0));
  elsewhere.create(5, 0, 1)->add(partition("t", 1));
  here.put(elsewhere.take(5), kSecond);
  proto::ErrorCode error{};
  EXPECT_NE(here.resume(5, 1, false, kSecond, error), nullptr);
  EXPECT_EQ(here.create(6, kSecond, 1), nullptr) << "the share is used up";
  elsewhere.create(7, 0, 1);
  here.put(elsewhere.take(7), kSecond);
  EXPECT_EQ(here.size(), 2u);
  EXPECT_EQ(here.resume(7, 1, false, kSecond, error), nullptr);
}

TEST(FetchSessions, GrowthOfASessionCounts) {
  FetchSessions sessions({10, 2}, {10, 2});
  auto session = sessions.create(5, 0, 1);
  session->add(partition("t", 0));
  session->add(partition("t", 1));
  EXPECT_TRUE(sessions.within_bound());
  session->add(partition("t", 2));
  EXPECT_FALSE(sessions.within_bound());
}

TEST(FetchSessions, PartitionsOfAllSessionsAreBounded) {
  FetchSessions sessions({10, 5}, {10, 5});
  auto first = sessions.create(1, 0, 3);
  for (int i = 0; i < 3; ++i) first->add(partition("t", i));
  EXPECT_EQ(sessions.create(2, kSecond, 3), nullptr);
  EXPECT_NE(sessions.create(3, kSecond, 2), nullptr);
}

TEST(FetchSession, OrderFollowsWhatWasGiven) {
  FetchSession session;
  for (int i = 0; i < 3; ++i) session.add(partition("t", i));
  session.move_to_end({"t", {}, 0});
  session.forget({"t", {}, 1});
  session.forget({"t", {}, 9});
  std::vector<int32_t> order;
  for (const auto& each : session.partitions()) order.push_back(each.index);
  EXPECT_EQ(order, std::vector<int32_t>({2, 0}));
  EXPECT_EQ(session.find({"t", {}, 1}), nullptr);
  EXPECT_NE(session.find({"t", {}, 2}), nullptr);
}

}  // namespace
}  // namespace pelton::broker
