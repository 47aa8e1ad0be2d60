#include "broker/notices.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/poll_io.h"

namespace pelton::broker {
namespace {

TEST(Notices, AnEventThatMeetsManyIsTwoLines) {
  pelton::test::PollIo io;
  Loop loop(io);
  RepeatedNotice notice(loop, LogLevel::kWarn, "partitions cannot take records now");
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10'000; ++i) notice.tell("t-{} cannot take records now", i);
  std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(told, "t-0 cannot take records now\n");

  ::testing::internal::CaptureStderr();
  uint64_t begin = loop.now_ns();
  while (loop.now_ns() < begin + 1'100'000'000) loop.run_turn(false);
  told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(told, "9999 more partitions cannot take records now\n");

  // Still within a second after that line; then one by itself is told at once.
  ::testing::internal::CaptureStderr();
  notice.tell("t-1 cannot take records now");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  begin = loop.now_ns();
  while (loop.now_ns() < begin + 2'500'000'000) loop.run_turn(false);
  notice.tell("t-2 cannot take records now");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "1 more partitions cannot take records now\nt-2 cannot take records now\n");
}

TEST(Notices, WhatIsBelowTheLevelIsNotCounted) {
  pelton::test::PollIo io;
  Loop loop(io);
  RepeatedNotice notice(loop, LogLevel::kInfo, "more");
  ::testing::internal::CaptureStderr();
  log_set_level(LogLevel::kError);
  notice.tell("not seen");
  log_set_level(LogLevel::kInfo);
  notice.tell("seen");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "seen\n");
}

}  // namespace
}  // namespace pelton::broker
