#include "broker/service/liveness.h"

#include <gtest/gtest.h>

#include "reactor/mailbox.h"
#include "tests/support/poll_io.h"

namespace pelton::broker {
namespace {

TEST(LivenessTest, AShardThatDoesNotTurnIsNamed) {
  test::PollIo io0, io1;
  Mailboxes mailboxes(2);
  Shard zero(0, io0, mailboxes), one(1, io1, mailboxes);
  Liveness liveness({&zero, &one});
  EXPECT_EQ(liveness.silent(), std::nullopt);

  liveness.begin_round();
  EXPECT_EQ(liveness.silent(), 0);
  zero.loop().run_turn(true);
  EXPECT_EQ(liveness.silent(), 1);
  // The next round does not ask the silent one twice.
  liveness.begin_round();
  zero.loop().run_turn(true);
  EXPECT_EQ(liveness.silent(), 1);
  one.loop().run_turn(true);
  EXPECT_EQ(liveness.silent(), std::nullopt);
}

}  // namespace
}  // namespace pelton::broker
