// How long connections have to wait so that their rate stays below a limit.

#include "broker/net/connection_rate.h"

#include <gtest/gtest.h>

namespace pelton::broker {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(ConnectionRate, AQuietBrokerTakesWhatTheWindowsBeforeAllow) {
  ConnectionRate rate(11, 1);
  // Ten windows count as passed: ten seconds' worth at once.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(rate.record(7 * kSecond, 5), 0u) << i;
  // One too many needs another fifth of a second.
  EXPECT_NEAR(static_cast<double>(rate.record(7 * kSecond, 5)), 0.2 * kSecond, 1000);
  EXPECT_NEAR(static_cast<double>(rate.record(7 * kSecond, 5)), 0.4 * kSecond, 1000);
}

TEST(ConnectionRate, NobodyWaitsLongerThanAWindow) {
  ConnectionRate rate(2, 3);
  for (int i = 0; i < 1000; ++i) rate.record(0, 1);
  EXPECT_EQ(rate.record(0, 1), 3 * kSecond);
  EXPECT_EQ(ConnectionRate(2, 3).record(0, 0), 3 * kSecond);
}

TEST(ConnectionRate, WhoComesBelowTheRateNeverWaits) {
  ConnectionRate rate(11, 1);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(rate.record(i * kSecond / 5, 6), 0u) << i;
}

TEST(ConnectionRate, OldWindowsAreForgotten) {
  ConnectionRate rate(3, 1);
  for (int i = 0; i < 100; ++i) rate.record(0, 5);
  EXPECT_GT(rate.record(kSecond, 5), 0u);
  EXPECT_EQ(rate.record(5 * kSecond, 5), 0u);
}

TEST(ConnectionRate, FarTooLargeWindowsAreNoTrouble) {
  ConnectionRate rate(INT32_MAX, INT32_MAX);
  EXPECT_EQ(rate.record(UINT64_MAX / 2, 1), 0u);
}

}  // namespace
}  // namespace pelton::broker
