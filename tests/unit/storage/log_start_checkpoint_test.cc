// Log starts on their way to stable storage.
#include "storage/log_start_checkpoint.h"

#include <gtest/gtest.h>

#include "tests/unit/storage/harness.h"

namespace pelton::storage {
namespace {

using test::Harness;
using test::read_all;

class LogStartCheckpointTest : public testing::Test {
 protected:
  struct Waiting : LogStartWaiter {
    Waiting() {
      owner = this;
      done = [](void* self, Status outcome) {
        auto& waiting = *static_cast<Waiting*>(self);
        ++waiting.told;
        waiting.error = outcome ? 0 : outcome.error().code;
      };
    }
    int told = 0;
    int error = 0;
  };

  void SetUp() override { h_.io.auto_complete = false; }
  void TearDown() override { h_.io.auto_complete = true; }

  void raise(int32_t partition, int64_t to) {
    h_.log_dir->note_log_start({{"t", partition}, 7, to, 9, h_.topic_id});
  }
  void end_sync(int32_t result = 0) {
    ASSERT_FALSE(h_.io.started.empty());
    h_.io.end(result);
    h_.turn();
  }
  std::string file() { return read_all(h_.dir / "data/log-start-offset-checkpoint"); }

  Harness h_;
  LogStartCheckpoint checkpoint_{h_.io, *h_.log_dir};
};

TEST_F(LogStartCheckpointTest, FirstTheFileThenItsNameThenTheAnswer) {
  Waiting none;
  checkpoint_.wait(none);
  EXPECT_EQ(none.told, 1) << "nothing has changed since the start";
  Waiting waiting;
  raise(0, 5);
  checkpoint_.wait(waiting);
  ASSERT_EQ(h_.io.started.size(), 1u);
  EXPECT_FALSE(h_.io.started.front().file_system);
  EXPECT_EQ(file(), "") << "the old file stays until the new one is on disk";
  end_sync();
  EXPECT_EQ(file(), "0\n1\nt 0 5\n");
  EXPECT_EQ(waiting.told, 0);
  EXPECT_TRUE(h_.io.started.front().file_system);
  end_sync();
  EXPECT_EQ(waiting.told, 1);
  EXPECT_EQ(waiting.error, 0);
  Waiting again;
  checkpoint_.wait(again);
  EXPECT_EQ(again.told, 1) << "it is there already";
}

TEST_F(LogStartCheckpointTest, WhatComesMeanwhileGoesWithTheNextWriting) {
  Waiting first, second, third;
  raise(0, 5);
  checkpoint_.wait(first);
  end_sync();
  raise(1, 6);
  checkpoint_.wait(second);
  raise(0, 8);
  checkpoint_.wait(third);
  end_sync();
  EXPECT_EQ(first.told, 1);
  EXPECT_EQ(second.told, 0);
  end_sync();
  EXPECT_EQ(file(), "0\n2\nt 0 8\nt 1 6\n");
  end_sync();
  EXPECT_EQ(second.told + third.told, 2);
  EXPECT_TRUE(h_.io.started.empty()) << "one writing for both";
}

// A topic made anew while its old line is being written: the old line must not come after it.
TEST_F(LogStartCheckpointTest, AnOlderFileIsNotPutOverANewerOne) {
  Waiting waiting;
  raise(1, 5);
  checkpoint_.wait(waiting);
  test::Observer observer;
  auto created = h_.log_dir->create_log(*h_.storage, observer, {"t", 1}, Uuid{{9}}, {});
  ASSERT_TRUE(created.has_value());
  EXPECT_EQ(file(), "0\n0\n");
  end_sync();
  EXPECT_EQ(waiting.told, 0);
  end_sync();
  EXPECT_EQ(file(), "0\n0\n");
  end_sync();
  EXPECT_EQ(waiting.told, 1);
}

TEST_F(LogStartCheckpointTest, AFailedSyncIsToldAndTheNextFileIsAFreshOne) {
  for (int fail_at : {0, 1}) {
    Waiting waiting;
    raise(0, 5 + fail_at);
    checkpoint_.wait(waiting);
    if (fail_at == 1) end_sync();
    end_sync(-EIO);
    EXPECT_EQ(waiting.told, 1);
    EXPECT_EQ(waiting.error, EIO);
    EXPECT_TRUE(h_.io.started.empty());
    Waiting again;
    checkpoint_.wait(again);
    EXPECT_EQ(again.told, 0) << "it is not taken for granted now";
    end_sync();
    end_sync();
    EXPECT_EQ(again.told, 1);
    EXPECT_EQ(again.error, 0);
  }
}

TEST_F(LogStartCheckpointTest, AFullDiskIsTold) {
  h_.io.fs.fail_suffix = ".part";
  h_.io.fs.write_error = ENOSPC;
  Waiting waiting;
  raise(0, 5);
  checkpoint_.wait(waiting);
  EXPECT_EQ(waiting.told, 1);
  EXPECT_EQ(waiting.error, ENOSPC);
  h_.io.fs.write_error = 0;
  Waiting again;
  checkpoint_.wait(again);
  end_sync();
  end_sync();
  EXPECT_EQ(again.told, 1);
  EXPECT_EQ(again.error, 0);
}

TEST_F(LogStartCheckpointTest, StopEndsEveryWait) {
  Waiting covered, later, after;
  raise(0, 5);
  checkpoint_.wait(covered);
  checkpoint_.wait(later);
  checkpoint_.stop({ECANCELED});
  EXPECT_EQ(covered.told + later.told, 2);
  EXPECT_EQ(covered.error, ECANCELED);
  checkpoint_.wait(after);
  EXPECT_EQ(after.error, ECANCELED);
  end_sync();
  EXPECT_EQ(file(), "") << "what comes after the stop's own writing must not change it";
}

// Lines that shards made before a client was told of a later start.
TEST_F(LogStartCheckpointTest, OlderLinesDoNotTakeItBack) {
  raise(0, 5);
  ASSERT_TRUE(h_.log_dir->write_checkpoints({{h_.id, 1, 3, 1, h_.topic_id}}).has_value());
  EXPECT_EQ(h_.log_dir->log_starts().text, "0\n1\nt 0 5\n");
  EXPECT_EQ(h_.log_dir->checkpoint_of(h_.id)->recovery_point, 1);
  // Another topic of that name has a start of its own.
  ASSERT_TRUE(h_.log_dir->write_checkpoints({{h_.id, 1, 3, 1, Uuid{{9}}}}).has_value());
  EXPECT_EQ(h_.log_dir->log_starts().text, "0\n1\nt 0 3\n");
}

}  // namespace
}  // namespace pelton::storage
