#include "storage/leader_epochs.h"

#include <gtest/gtest.h>

#include "storage/log.h"

namespace pelton::storage {
namespace {

using Entries = std::vector<LeaderEpochEntry>;

LeaderEpochs make(const Entries& entries) {
  LeaderEpochs epochs;
  epochs.load(entries);
  return epochs;
}

void expect_end(const LeaderEpochs& epochs, int32_t asked, int32_t epoch, int64_t end) {
  EpochEnd found = epochs.end_of(asked, 100);
  EXPECT_EQ(found.leader_epoch, epoch) << "asked " << asked;
  EXPECT_EQ(found.end_offset, end) << "asked " << asked;
}

TEST(LeaderEpochs, AssignKeepsBothAscending) {
  LeaderEpochs epochs;
  EXPECT_TRUE(epochs.assign(1, 0));
  EXPECT_FALSE(epochs.assign(1, 5)) << "the epoch goes on";
  EXPECT_TRUE(epochs.assign(3, 10));
  EXPECT_TRUE(epochs.assign(4, 10)) << "epoch 3 wrote nothing";
  EXPECT_EQ(epochs.entries(), (Entries{{1, 0}, {4, 10}}));
  EXPECT_TRUE(epochs.assign(2, 7)) << "contradicts epoch 4";
  EXPECT_EQ(epochs.entries(), (Entries{{1, 0}, {2, 7}}));
  EXPECT_FALSE(epochs.assign(-1, 9));
}

TEST(LeaderEpochs, EndOfEpoch) {
  LeaderEpochs epochs = make({{2, 5}, {4, 10}, {7, 20}});
  expect_end(epochs, 7, 7, 100);
  expect_end(epochs, 8, -1, -1);
  expect_end(epochs, 6, 4, 20);
  expect_end(epochs, 4, 4, 20);
  expect_end(epochs, 3, 2, 10);
  expect_end(epochs, 1, 1, 5);
  expect_end(epochs, -1, -1, -1);
  expect_end(epochs, -3, -3, 5);
  expect_end(LeaderEpochs(), 0, -1, -1);
}

TEST(LeaderEpochs, EpochOfOffset) {
  LeaderEpochs epochs = make({{2, 5}, {4, 10}});
  EXPECT_EQ(epochs.epoch_of(4), -1);
  EXPECT_EQ(epochs.epoch_of(5), 2);
  EXPECT_EQ(epochs.epoch_of(9), 2);
  EXPECT_EQ(epochs.epoch_of(10), 4);
  EXPECT_EQ(epochs.epoch_of(1000), 4);
}

TEST(LeaderEpochs, Truncation) {
  LeaderEpochs epochs = make({{2, 5}, {4, 10}, {7, 20}});
  EXPECT_FALSE(epochs.truncate_from_start(5));
  EXPECT_FALSE(epochs.truncate_from_start(3));
  EXPECT_TRUE(epochs.truncate_from_start(12));
  EXPECT_EQ(epochs.entries(), (Entries{{4, 12}, {7, 20}}));
  EXPECT_FALSE(epochs.truncate_from_end(21));
  EXPECT_TRUE(epochs.truncate_from_end(20));
  EXPECT_EQ(epochs.entries(), (Entries{{4, 12}}));
}

}  // namespace
}  // namespace pelton::storage
