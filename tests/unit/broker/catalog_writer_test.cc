// The catalog's writer in a whole broker of three shards, on the poll backend and real files; the test
// turns all loops.
#include "broker/catalog/writer.h"

#include <filesystem>
#include <fstream>
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "broker/catalog/metadata_log.h"
#include "broker/catalog/topic_changes.h"
#include "broker/partition_set.h"
#include "broker/server.h"
#include "tests/support/poll_io.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

struct Outcome {
  bool done = false;
  ErrorCode error = ErrorCode::kNone;
  TopicOutcome topic;
  bool on_every_shard = false;  // when done() ran
};

class CatalogWriterTest : public ::testing::Test {
 protected:
  static constexpr int kShards = 3;

  std::filesystem::path data() const { return std::filesystem::path(directory_.path()) / "data"; }
  std::filesystem::path metadata() const { return data() / "__cluster_metadata-0"; }
  // As Apache Kafka leaves it, without a log. leader_epoch 0: formatted and never started.
  void make_kafka_directory(int leader_epoch) {
    std::filesystem::create_directories(metadata());
    std::ofstream(data() / "meta.properties") << "version=1\nnode.id=1\n"
                                                 "cluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
                                                 "directory.id=eyMmjR33a8sq-OMoU6vPQw\n";
    if (leader_epoch == 0) return;
    std::ofstream(metadata() / "quorum-state")
        << R"({"clusterId":"","leaderId":1,"leaderEpoch":)" << leader_epoch
        << R"(,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0})";
    std::ofstream(metadata() / "partition.metadata") << "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ";
  }
  void put(const std::string& golden, const std::string& name) {
    std::filesystem::copy_file("tests/golden/metadata/" + golden, metadata() / name);
  }

  Result<std::unique_ptr<Server>, std::string> open_server() {
    config_.log_dir = directory_.path() + "/data";
    config_.listeners = {{.name = "PLAINTEXT", .bind = {"127.0.0.1", 0}}};
    std::vector<Io*> ios;
    for (int i = 0; i < kShards; ++i) {
      ios_.push_back(std::make_unique<test::PollIo>());
      ios.push_back(ios_.back().get());
    }
    return Server::open(config_, ios, {.load_in_threads = false, .shuffle = true});
  }
  std::string start_error() {
    auto opened = open_server();
    return opened ? "(none)" : opened.error();
  }
  void start() {
    auto opened = open_server();
    ASSERT_TRUE(opened.has_value()) << opened.error();
    server_ = std::move(*opened);
  }
  void stop() {
    server_->request_stop();
    turn_until([&] {
      for (Shard* shard : server_->shards()) {
        if (!shard->loop().stopped()) return false;
      }
      return true;
    });
    EXPECT_TRUE(server_->stopped_clean());
    server_.reset();
    ios_.clear();
  }
  void restart() {
    stop();
    start();
  }
  void TearDown() override {
    if (server_ != nullptr) stop();
  }

  template <class Done>
  void turn_until(Done&& done) {
    for (int turn = 0; turn < 100'000; ++turn) {
      if (done()) return;
      for (Shard* shard : server_->shards()) {
        if (!shard->loop().stopped()) shard->loop().run_turn(false);
      }
    }
    FAIL() << "nothing more happens";
  }

  CatalogWriter& writer() { return *server_->shard(kCatalogShard).catalog_writer; }
  const TopicInfo* topic(std::string_view name) {
    return server_->shard(0).catalog->find(name);
  }
  bool usable_everywhere(std::string_view name) {
    for (ShardId id = 0; id < kShards; ++id) {
      BrokerShard& here = server_->shard(id);
      const TopicInfo* info = here.catalog->find(name);
      if (info == nullptr) return false;
      for (const PartitionInfo& partition : info->partitions) {
        if (partition.shard == id && here.partitions->find(info->id, partition.index) == nullptr) {
          return false;
        }
      }
    }
    return true;
  }

  class Create final : public CatalogChange {
   public:
    Create(CatalogWriterTest& test, NewTopic topic, Outcome& outcome)
        : test_(test), topic_(std::move(topic)), outcome_(outcome) {}
    void plan(const CatalogReplay& state, MetadataRecords& records) override {
      BrokerShard& here = test_.server_->shard(kCatalogShard);
      outcome_.topic = plan_create_topic(state, here.config, replica_home(here), topic_,
                                         make_topic_id(here.shard.io()), records);
    }
    void done(ErrorCode error) override {
      outcome_.done = true;
      outcome_.error = error;
      outcome_.on_every_shard = test_.usable_everywhere(topic_.name);
    }

   private:
    CatalogWriterTest& test_;
    NewTopic topic_;
    Outcome& outcome_;
  };

  class Delete final : public CatalogChange {
   public:
    Delete(std::string name, Outcome& outcome) : name_(std::move(name)), outcome_(outcome) {}
    bool makes_nothing() const override { return true; }
    void plan(const CatalogReplay& state, MetadataRecords& records) override {
      outcome_.topic = plan_delete_topic(*state.find(name_), records);
    }
    void done(ErrorCode error) override {
      outcome_.done = true;
      outcome_.error = error;
    }

   private:
    std::string name_;
    Outcome& outcome_;
  };

  bool submit(std::string_view name, int32_t partitions, Outcome& outcome) {
    NewTopic topic{.name = std::string(name), .partitions = partitions, .assignments = {}, .configs = {}};
    return writer().submit(std::make_unique<Create>(*this, std::move(topic), outcome)) == nullptr;
  }
  Outcome create(std::string_view name, int32_t partitions) {
    Outcome outcome;
    EXPECT_TRUE(submit(name, partitions, outcome));
    turn_until([&] { return outcome.done; });
    return outcome;
  }

  test::TempDir directory_;
  BrokerConfig config_;
  std::vector<std::unique_ptr<test::PollIo>> ios_;
  std::unique_ptr<Server> server_;
};

TEST_F(CatalogWriterTest, ATopicIsUsableThroughEveryShardWhenItsCreationIsAnswered) {
  start();
  Outcome outcome = create("orders", 7);
  EXPECT_EQ(outcome.error, ErrorCode::kNone);
  EXPECT_TRUE(outcome.on_every_shard);
  std::set<ShardId> owners;
  for (const PartitionInfo& partition : topic("orders")->partitions) owners.insert(partition.shard);
  EXPECT_EQ(owners.size(), 3u);
}

TEST_F(CatalogWriterTest, ChangesOfOneRoundSeeEachOther) {
  start();
  Outcome first, second, other;
  ASSERT_TRUE(submit("t", 1, first));
  ASSERT_TRUE(submit("t", 1, second));
  ASSERT_TRUE(submit("u", 1, other));
  EXPECT_FALSE(first.done);
  turn_until([&] { return first.done && second.done && other.done; });
  EXPECT_EQ(first.topic.error, ErrorCode::kNone);
  EXPECT_EQ(second.topic.error, ErrorCode::kTopicAlreadyExists);
  EXPECT_TRUE(other.on_every_shard);
}

TEST_F(CatalogWriterTest, ManyPartitionsAreCreatedInSeveralTurns) {
  start();
  Outcome outcome;
  ASSERT_TRUE(submit("many", 200, outcome));
  // The catalog shows the topic nowhere before every shard has all of it.
  turn_until([&] {
    for (ShardId id = 0; id < kShards; ++id) {
      if (server_->shard(id).catalog->find("many") == nullptr) continue;
      for (ShardId other = 0; other < kShards; ++other) {
        BrokerShard& there = server_->shard(other);
        for (const PartitionInfo& partition : server_->shard(id).catalog->find("many")->partitions) {
          if (partition.shard != other) continue;
          Uuid topic_id = server_->shard(id).catalog->find("many")->id;
          EXPECT_NE(there.partitions->find(topic_id, partition.index), nullptr);
        }
      }
    }
    return outcome.done;
  });
  EXPECT_EQ(outcome.error, ErrorCode::kNone);
  EXPECT_TRUE(outcome.on_every_shard);
  restart();
  EXPECT_TRUE(usable_everywhere("many"));
}

TEST_F(CatalogWriterTest, ANameComesAgainInTheRoundAfterItsDeletion) {
  start();
  Uuid old_id = create("t", 3).topic.id;
  restart();  // the checkpoints have lines of it
  EXPECT_TRUE(server_->log_dir().checkpoint_of({"t", 0}).has_value());
  Outcome deleted, again, other;
  ASSERT_EQ(writer().submit(std::make_unique<Delete>("t", deleted)), nullptr);
  ASSERT_TRUE(submit("t", 3, again));
  ASSERT_TRUE(submit("u", 1, other));
  turn_until([&] { return deleted.done; });
  EXPECT_FALSE(again.done);
  EXPECT_EQ(server_->log_dir().checkpoint_of({"t", 0}), std::nullopt) << "forgotten by then";
  turn_until([&] { return again.done && other.done; });
  EXPECT_EQ(again.topic.error, ErrorCode::kNone);
  EXPECT_NE(again.topic.id, old_id);
  EXPECT_TRUE(again.on_every_shard);
  restart();
  EXPECT_EQ(topic("t")->id, again.topic.id);
}

TEST_F(CatalogWriterTest, WhatAPowerLossTookOfANewPartitionIsMadeAgain) {
  start();
  create("gone", 2);
  create("cut", 1);
  create("empty", 1);
  stop();
  std::filesystem::remove_all(data() / "gone-0");
  std::filesystem::remove(data() / "cut-0" / "partition.metadata");
  std::filesystem::resize_file(data() / "empty-0" / "partition.metadata", 0);  // so a kill may leave it, too
  std::filesystem::remove(data() / ".kafka_cleanshutdown");
  start();
  EXPECT_TRUE(usable_everywhere("gone"));
  EXPECT_TRUE(usable_everywhere("cut"));
  EXPECT_TRUE(usable_everywhere("empty"));
  for (const auto& entry : std::filesystem::directory_iterator(data())) {
    EXPECT_FALSE(entry.path().string().ends_with("-stray")) << entry.path();
  }
}

TEST_F(CatalogWriterTest, StateSurvivesARestart) {
  start();
  Uuid id = create("orders", 3).topic.id;
  int64_t end = writer().state().end_offset();
  restart();
  ASSERT_NE(topic("orders"), nullptr);
  EXPECT_EQ(topic("orders")->id, id);
  EXPECT_EQ(topic("orders")->partitions.size(), 3u);
  EXPECT_TRUE(usable_everywhere("orders"));
  // Nothing new to say about an unchanged node.
  EXPECT_EQ(writer().state().end_offset(), end);
  EXPECT_EQ(writer().state().features().at("metadata.version"), 33);
  EXPECT_FALSE(writer().state().broker(1)->fenced);
}

TEST_F(CatalogWriterTest, AChangedNodeRegistersAnew) {
  start();
  create("t", 1);
  stop();
  config_.rack = "r2";
  start();
  EXPECT_EQ(writer().state().broker(1)->rack, "r2");
}

TEST_F(CatalogWriterTest, TheQueueIsBounded) {
  start();
  std::vector<Outcome> outcomes(CatalogWriter::kMaxWaiting + 1);
  for (size_t i = 0; i < CatalogWriter::kMaxWaiting; ++i) ASSERT_TRUE(submit("t", 1, outcomes[i]));
  EXPECT_FALSE(submit("t", 1, outcomes.back()));
  turn_until([&] { return outcomes[CatalogWriter::kMaxWaiting - 1].done; });
  EXPECT_EQ(outcomes[0].topic.error, ErrorCode::kNone);
  EXPECT_TRUE(submit("u", 1, outcomes.back()));
  turn_until([&] { return outcomes.back().done; });
}

TEST_F(CatalogWriterTest, WhatWaitsAtTheStopIsAnswered) {
  start();
  Outcome outcome;
  ASSERT_TRUE(submit("t", 1, outcome));
  writer().stop();
  EXPECT_TRUE(outcome.done);
  EXPECT_EQ(outcome.error, ErrorCode::kNotController);
  Outcome late;
  EXPECT_FALSE(submit("u", 1, late));
}

TEST_F(CatalogWriterTest, ProducerIdsAreNeverGivenTwice) {
  std::set<int64_t> seen;
  struct Waiter : CatalogWriter::ProducerIdWaiter {
    bool done = false;
    ErrorCode error{};
    int64_t id = -1;
  };
  auto take = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Waiter waiter;
      waiter.owner = &waiter;
      waiter.ready = [](void* self, ErrorCode error, int64_t id) {
        auto& mine = *static_cast<Waiter*>(self);
        mine.done = true;
        mine.error = error;
        mine.id = id;
      };
      writer().next_producer_id(waiter);
      turn_until([&] { return waiter.done; });
      EXPECT_EQ(waiter.error, ErrorCode::kNone);
      EXPECT_TRUE(seen.insert(waiter.id).second) << waiter.id;
      // The block it comes from is in the state that a restart reads.
      EXPECT_LT(waiter.id, writer().state().next_producer_id());
    }
  };
  start();
  take(2'500);
  restart();
  take(10);
}

TEST_F(CatalogWriterTest, TakesOverADirectoryOfApacheKafka) {
  make_kafka_directory(1);
  put("apache_kafka_4.4.0.log", "00000000000000000000.log");
  put("apache_kafka_4.4.0_bootstrap.checkpoint", "00000000000000000000-0000000000.checkpoint");
  start();
  const TopicInfo* orders = topic("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders->partitions.size(), 5u);
  for (const PartitionInfo& partition : orders->partitions) {
    EXPECT_EQ(partition.leader, 1);
    EXPECT_EQ(partition.leader_epoch, 2);
    EXPECT_EQ(partition.isr, std::vector<int32_t>{1});
  }
  EXPECT_TRUE(usable_everywhere("orders"));
  EXPECT_FALSE(writer().state().broker(1)->fenced);
  EXPECT_EQ(writer().state().features().at("transaction.version"), 2);
  int64_t end = writer().state().end_offset();
  EXPECT_GT(end, 101);
  restart();
  EXPECT_EQ(writer().state().end_offset(), end);
  EXPECT_EQ(topic("orders")->partitions[0].leader_epoch, 2);
}

TEST_F(CatalogWriterTest, StartsAFormattedDirectoryOfApacheKafka) {
  make_kafka_directory(0);
  put("apache_kafka_4.4.0_bootstrap.checkpoint", "00000000000000000000-0000000000.checkpoint");
  start();
  EXPECT_EQ(writer().state().features().at("metadata.version"), 33);
  EXPECT_EQ(writer().state().features().at("transaction.version"), 2);
  EXPECT_EQ(create("t", 1).topic.error, ErrorCode::kNone);
  restart();
  EXPECT_NE(topic("t"), nullptr);
}

// "name id partitions config...": what a start has read.
std::vector<std::string> told(const CatalogSnapshot& snapshot) {
  std::vector<std::string> lines;
  for (const auto& [name, topic] : snapshot.topics()) {
    std::string line = name + " " + topic->id.to_string();
    for (const PartitionInfo& p : topic->partitions) line += " " + std::to_string(p.partition_epoch);
    for (const auto& [key, value] : topic->config) line += " " + key + "=" + value;
    lines.push_back(line);
  }
  return lines;
}

TEST_F(CatalogWriterTest, ASnapshotAndTheRestOfTheLogSayWhatTheWholeLogSays) {
  make_kafka_directory(2);
  put("apache_kafka_4.4.0_snapshots.log", "00000000000000000000.log");
  start();
  std::vector<std::string> by_log = told(*server_->shard(0).catalog);
  int64_t end = writer().state().end_offset();
  int64_t next_producer_id = writer().state().next_producer_id();
  stop();
  std::filesystem::remove_all(data());
  make_kafka_directory(2);
  put("apache_kafka_4.4.0_snapshots.log", "00000000000000000000.log");
  put("apache_kafka_4.4.0_251-2.checkpoint", "00000000000000000251-0000000002.checkpoint");
  start();
  EXPECT_EQ(by_log.size(), 7u);
  EXPECT_EQ(told(*server_->shard(0).catalog), by_log);
  EXPECT_EQ(writer().state().end_offset(), end);
  EXPECT_EQ(writer().state().next_producer_id(), next_producer_id);
}

// Snapshots in the metadata directory, the oldest first.
std::vector<std::string> checkpoints(const std::filesystem::path& directory, std::string_view suffix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::string name = entry.path().filename();
    if (name.ends_with(suffix)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

TEST_F(CatalogWriterTest, SnapshotsAreWrittenAndWhatTheyReplaceGoes) {
  config_.metadata_snapshot_bytes = 1'000;
  config_.metadata_small_segment_bytes = 2'000;
  config_.metadata_retention_bytes = 6'000;
  config_.metadata_delete_delay_ms = 0;
  start();
  auto segments = [&] { return checkpoints(metadata(), ".log"); };
  for (int i = 0; i < 40; ++i) create("topic-" + std::to_string(i), 2);
  turn_until([&] { return checkpoints(metadata(), ".part").empty(); });
  EXPECT_GT(segments().front(), "00000000000000000000.log") << "the log begins later";
  EXPECT_LE(checkpoints(metadata(), ".checkpoint").size(), 3u);
  EXPECT_GT(writer().metadata_log().log().log_start_offset(), 0);
  std::vector<std::string> before = told(*server_->shard(0).catalog);
  int64_t end = writer().state().end_offset();
  int64_t log_start = writer().metadata_log().log().log_start_offset();
  // Half a snapshot that a crash left.
  stop();
  std::ofstream(metadata() / "00000000000000009999-0000000001.checkpoint.part") << "torn";
  start();
  EXPECT_EQ(told(*server_->shard(0).catalog), before);
  EXPECT_EQ(writer().state().end_offset(), end);
  EXPECT_EQ(writer().metadata_log().log().log_start_offset(), log_start);
  EXPECT_TRUE(checkpoints(metadata(), ".part").empty());
  create("later", 1);
  restart();
  EXPECT_NE(topic("later"), nullptr);
  // The snapshot alone is enough for what is before it.
  stop();
  std::string newest = checkpoints(metadata(), ".checkpoint").back();
  EXPECT_GE(std::stoll(newest.substr(0, 20)), log_start);
}

TEST_F(CatalogWriterTest, TimeBringsASnapshotAtTheNextChange) {
  config_.metadata_snapshot_interval_ms = 20;
  start();
  create("first", 1);
  EXPECT_TRUE(checkpoints(metadata(), ".checkpoint").empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_TRUE(checkpoints(metadata(), ".checkpoint").empty());
  create("second", 1);
  turn_until([&] { return checkpoints(metadata(), ".checkpoint").size() == 1; });
  EXPECT_TRUE(checkpoints(metadata(), ".part").empty());
  EXPECT_EQ(writer().metadata_log().log().log_start_offset(), 0) << "one snapshot replaces nothing";
  restart();
  EXPECT_NE(topic("second"), nullptr);
}

TEST_F(CatalogWriterTest, AChangeThatFitsInNoSegmentIsRefused) {
  config_.metadata_small_segment_bytes = 1'000;
  start();
  EXPECT_EQ(create("many", 100).error, ErrorCode::kPolicyViolation);
  EXPECT_EQ(create("few", 1).error, ErrorCode::kNone);
}

TEST_F(CatalogWriterTest, RefusesALogThatEndsBeforeItsSnapshot) {
  make_kafka_directory(2);
  put("apache_kafka_4.4.0_251-2.checkpoint", "00000000000000000251-0000000002.checkpoint");
  std::string error = start_error();
  EXPECT_NE(error.find("the log ends at offset 0, before its snapshot at 251"), std::string::npos)
      << error;
}

TEST_F(CatalogWriterTest, RefusesALeaderEpochThatNobodyVotedFor) {
  make_kafka_directory(1);
  put("apache_kafka_4.4.0_snapshots.log", "00000000000000000000.log");
  std::string error = start_error();
  EXPECT_NE(error.find("the log has leader epoch 2, but quorum-state says 1"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace pelton::broker
