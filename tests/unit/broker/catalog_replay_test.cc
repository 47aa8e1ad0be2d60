#include "broker/catalog/replay.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "broker/catalog/internal_topics.h"
#include "broker/catalog/placement.h"
#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

Uuid id_of(uint8_t n) {
  Uuid id;
  id.bytes[0] = n;
  return id;
}

// Collects records and replays them, as batches of a log.
class CatalogReplayTest : public ::testing::Test {
 protected:
  template <class T>
  void add(const T& record) {
    records.add(record);
  }

  CatalogReplay::Outcome replay_all() {
    proto::BatchBuilder builder({.base_offset = replay.end_offset(), .partition_leader_epoch = 1});
    for (size_t i = 0; i < records.count(); ++i) builder.append(5, std::nullopt, records.value(i));
    std::vector<uint8_t> batch;
    EXPECT_TRUE(builder.build(batch).has_value());
    records.clear();
    return replay.apply_batch(batch);
  }
  void expect_replayed() {
    auto done = replay_all();
    EXPECT_TRUE(done.has_value()) << done.error();
  }
  std::string error() {
    auto done = replay_all();
    return done ? "(none)" : done.error();
  }

  void add_topic(std::string_view name, uint8_t id, int32_t partitions) {
    add(proto::TopicRecord{.name = name, .topic_id = id_of(id)});
    proto::BrokerId replica(1);
    int32_t in_sync = 1;
    for (int32_t i = 0; i < partitions; ++i) {
      proto::PartitionRecord record;
      record.partition_id = i;
      record.topic_id = id_of(id);
      record.replicas = {&replica, 1};
      record.isr = {&in_sync, 1};
      record.leader = replica;
      record.leader_epoch = 0;
      record.partition_epoch = 0;
      add(record);
    }
  }
  void add_config(std::string_view topic, std::string_view name, std::optional<std::string_view> value) {
    proto::ConfigRecord record{.resource_type = 2, .resource_name = topic, .name = name};
    record.value = value;
    add(record);
  }

  // By the numbers of the topics' ids, ascending.
  static void expect_changes(const CatalogSnapshot& now, const CatalogSnapshot* before,
                             std::vector<uint8_t> changed, std::vector<uint8_t> removed) {
    TopicChanges changes = now.changes_since(before);
    auto expect = [](std::vector<const TopicInfo*> topics, const std::vector<uint8_t>& numbers) {
      std::ranges::sort(topics, {}, &TopicInfo::id);
      ASSERT_EQ(topics.size(), numbers.size());
      for (size_t i = 0; i < topics.size(); ++i) EXPECT_EQ(topics[i]->id, id_of(numbers[i]));
    };
    expect(changes.changed, changed);
    expect(changes.removed, removed);
    for (const TopicInfo* topic : changes.changed) EXPECT_EQ(topic, now.find(topic->id));
  }

  MetadataRecords records;
  CatalogReplay replay{3, BrokerConfig{}};
};

TEST_F(CatalogReplayTest, TopicsPartitionsAndConfigs) {
  add_config("orders", "retention.ms", "5");  // before its topic, as a snapshot may have it
  add_topic("orders", 1, 4);
  add_config("orders", "cleanup.policy", "compact");
  add_topic(kOffsetsTopic, 2, 1);
  expect_replayed();
  auto snapshot = replay.snapshot();
  const TopicInfo* orders = snapshot->find("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders, snapshot->find(id_of(1)));
  EXPECT_EQ(orders->log_config.retention_ms, 5);
  EXPECT_TRUE(orders->log_config.compact_policy);
  EXPECT_FALSE(orders->internal);
  EXPECT_TRUE(snapshot->find(kOffsetsTopic)->internal);
  ASSERT_EQ(orders->partitions.size(), 4u);
  for (int32_t i = 0; i < 4; ++i) {
    const PartitionInfo* partition = snapshot->find_partition("orders", i);
    EXPECT_EQ(partition->index, i);
    EXPECT_EQ(partition->leader, 1);
    EXPECT_EQ(partition->shard, shard_of("orders", i, 3));
  }
  EXPECT_EQ(snapshot->find_partition("orders", 4), nullptr);
  EXPECT_EQ(snapshot->find_partition("orders", -1), nullptr);
  EXPECT_EQ(snapshot->find_partition("nothing", 0), nullptr);
  EXPECT_EQ(snapshot->end_offset(), 9);
}

TEST_F(CatalogReplayTest, ARecreatedTopicStartsAnew) {
  add_topic("t", 1, 3);
  add_config("t", "retention.ms", "5");
  add(proto::RemoveTopicRecord{.topic_id = id_of(1)});
  add_topic("t", 2, 1);
  expect_replayed();
  auto snapshot = replay.snapshot();
  EXPECT_EQ(snapshot->find(id_of(1)), nullptr);
  const TopicInfo* topic = snapshot->find("t");
  EXPECT_EQ(topic->id, id_of(2));
  EXPECT_EQ(topic->partitions.size(), 1u);
  EXPECT_TRUE(topic->config.empty());
}

TEST_F(CatalogReplayTest, SnapshotsDoNotChange) {
  add_topic("t", 1, 1);
  add_topic("other", 2, 1);
  expect_replayed();
  auto before = replay.snapshot();
  add_config("t", "retention.ms", "5");
  proto::PartitionChangeRecord change;
  change.partition_id = 0;
  change.topic_id = id_of(1);
  change.leader = proto::BrokerId(-1);
  add(change);
  expect_replayed();
  auto after = replay.snapshot();
  EXPECT_TRUE(before->find("t")->config.empty());
  EXPECT_EQ(before->find("t")->partitions[0].leader, 1);
  EXPECT_EQ(after->find("t")->config.at("retention.ms"), "5");
  EXPECT_EQ(after->find("t")->partitions[0].leader, -1);
  EXPECT_EQ(before->find("other"), after->find("other"));  // unchanged topics are shared
}

TEST_F(CatalogReplayTest, SnapshotsTellWhatHasChanged) {
  add_topic("kept", 1, 1);
  add_topic("changed", 2, 1);
  add_topic("again", 3, 1);
  expect_replayed();
  auto first = replay.snapshot();
  expect_changes(*first, nullptr, {1, 2, 3}, {});
  add_config("changed", "retention.ms", "5");
  add(proto::RemoveTopicRecord{.topic_id = id_of(3)});
  add_topic("again", 4, 1);
  add_topic("passing", 5, 1);
  add(proto::RemoveTopicRecord{.topic_id = id_of(5)});
  expect_replayed();
  EXPECT_EQ(replay.topics_removed(), 2u);
  auto second = replay.snapshot();
  EXPECT_EQ(replay.topics_removed(), 0u);
  expect_changes(*second, first.get(), {2, 4}, {3});
  auto third = replay.snapshot();
  expect_changes(*third, second.get(), {}, {});
  // Further apart, and of a state that was replayed anew: by comparing.
  expect_changes(*third, first.get(), {2, 4}, {3});
  CatalogReplay other(3, BrokerConfig{});
  expect_changes(*other.snapshot(), third.get(), {}, {1, 2, 4});
}

TEST_F(CatalogReplayTest, PartitionChangesRaiseEpochs) {
  add_topic("t", 1, 1);
  proto::BrokerId self(1);
  proto::PartitionChangeRecord change;
  change.partition_id = 0;
  change.topic_id = id_of(1);
  change.isr.emplace();
  add(change);                          // in-sync replicas only
  change.leader = proto::BrokerId(-1);
  add(change);                          // no leader
  change.leader = self;
  change.isr = std::span(&self, 1);
  add(change);
  expect_replayed();
  const PartitionInfo& partition = replay.find("t")->partitions[0];
  EXPECT_EQ(partition.leader, 1);
  EXPECT_EQ(partition.leader_epoch, 2);
  EXPECT_EQ(partition.partition_epoch, 3);
  EXPECT_EQ(partition.isr, std::vector<int32_t>{1});
}

TEST_F(CatalogReplayTest, NullRemovesAConfig) {
  add_topic("t", 1, 1);
  add_config("t", "retention.ms", "5");
  expect_replayed();
  replay.snapshot();
  add_config("t", "retention.ms", std::nullopt);
  expect_replayed();
  EXPECT_TRUE(replay.snapshot()->find("t")->config.empty());
}

TEST_F(CatalogReplayTest, TransactionsApplyAtTheirEndOrNotAtAll) {
  add(proto::BeginTransactionRecord{});
  add_topic("kept", 1, 1);
  expect_replayed();
  EXPECT_EQ(replay.find("kept"), nullptr);
  EXPECT_TRUE(replay.in_transaction());
  add(proto::EndTransactionRecord{});
  add(proto::BeginTransactionRecord{});
  add_topic("dropped", 2, 1);
  add(proto::AbortTransactionRecord{});
  expect_replayed();
  EXPECT_NE(replay.find("kept"), nullptr);
  EXPECT_EQ(replay.find("dropped"), nullptr);
  EXPECT_FALSE(replay.in_transaction());
}

TEST_F(CatalogReplayTest, BrokersFeaturesAndProducerIds) {
  Uuid directory = id_of(9);
  proto::RegisterBrokerRecord::BrokerEndpoint endpoint{
      .name = "PLAINTEXT", .host = "h", .port = 9092, .security_protocol = 0};
  proto::RegisterBrokerRecord record;
  record.broker_id = proto::BrokerId(4);
  record.broker_epoch = 12;
  record.end_points = {&endpoint, 1};
  record.rack = "r";
  record.log_dirs = {&directory, 1};
  add(record);
  add(proto::UnfenceBrokerRecord{.id = proto::BrokerId(4), .epoch = 12});
  add(proto::FeatureLevelRecord{.name = "metadata.version", .feature_level = 33});
  add(proto::FeatureLevelRecord{.name = "group.version", .feature_level = 1});
  add(proto::FeatureLevelRecord{.name = "group.version", .feature_level = 0});
  add(proto::ProducerIdsRecord{.broker_id = proto::BrokerId(4), .next_producer_id = 1000});
  expect_replayed();
  const BrokerRegistration* broker = replay.broker(4);
  ASSERT_NE(broker, nullptr);
  EXPECT_FALSE(broker->fenced);
  EXPECT_EQ(broker->epoch, 12);
  EXPECT_EQ(broker->endpoints, std::vector<std::string>{"PLAINTEXT://h:9092"});
  EXPECT_EQ(broker->log_dirs, std::vector<Uuid>{directory});
  EXPECT_EQ(replay.features().size(), 1u);
  EXPECT_EQ(replay.next_producer_id(), 1000);

  add(proto::BrokerRegistrationChangeRecord{.broker_id = proto::BrokerId(4), .broker_epoch = 12,
                                            .fenced = 1});
  expect_replayed();
  EXPECT_TRUE(replay.broker(4)->fenced);
  add(proto::UnregisterBrokerRecord{.broker_id = proto::BrokerId(4)});
  expect_replayed();
  EXPECT_EQ(replay.broker(4), nullptr);
}

TEST_F(CatalogReplayTest, ControlBatchesArePassedOver) {
  proto::BatchBuilder builder({.base_offset = 0, .control = true});
  builder.append_control(1, proto::ControlType::kLeaderChange, Bytes());
  std::vector<uint8_t> batch;
  ASSERT_TRUE(builder.build(batch).has_value());
  EXPECT_TRUE(replay.apply_batch(batch).has_value());
  EXPECT_EQ(replay.end_offset(), 1);
}

TEST_F(CatalogReplayTest, StopsAtWhatItDoesNotKnow) {
  const uint8_t unknown_type[] = {1, 100, 0, 0};
  records.add_value(unknown_type);
  EXPECT_EQ(error(), "metadata offset 0: record type 100 is unknown; the directory was written by a newer "
                     "release");
  const uint8_t unknown_version[] = {1, 2, 9};
  records.add_value(unknown_version);
  EXPECT_EQ(error(), "metadata offset 0: version 9 of record type 2 is unknown; the directory was written by "
                     "a newer release");
  const uint8_t unknown_frame[] = {2, 2, 0};
  records.add_value(unknown_frame);
  EXPECT_EQ(error(), "metadata offset 0: frame version 2 is unknown");
  const uint8_t cut_frame[] = {1, 0x82};
  records.add_value(cut_frame);
  EXPECT_EQ(error(), "metadata offset 0: the record ends inside its frame");
  const uint8_t cut_record[] = {1, 2, 0, 5};
  records.add_value(cut_record);
  EXPECT_EQ(error().find("metadata offset 0: record type 2 cannot be read"), 0u);
  add(proto::FeatureLevelRecord{.name = "metadata.version", .feature_level = 34});
  EXPECT_EQ(error(), "metadata offset 0: metadata.version 34 is newer than this release's, 33");
}

TEST_F(CatalogReplayTest, StopsAtContradictions) {
  add(proto::RemoveTopicRecord{.topic_id = id_of(1)});
  EXPECT_EQ(error(), "metadata offset 0: there is no topic with id AQAAAAAAAAAAAAAAAAAAAA");
  add_topic("t", 1, 1);
  expect_replayed();
  add(proto::TopicRecord{.name = "t", .topic_id = id_of(2)});
  EXPECT_EQ(error(), "metadata offset 2: topic t is there already");
  add(proto::TopicRecord{.name = "u", .topic_id = id_of(1)});
  EXPECT_EQ(error(), "metadata offset 2: topic id AQAAAAAAAAAAAAAAAAAAAA is there already");
  proto::PartitionChangeRecord change;
  change.partition_id = 3;
  change.topic_id = id_of(1);
  add(change);
  EXPECT_EQ(error(), "metadata offset 2: there is no partition t-3");
  add(proto::EndTransactionRecord{});
  EXPECT_EQ(error(), "metadata offset 2: a transaction ends that never began");
  add(proto::FenceBrokerRecord{.id = proto::BrokerId(5)});
  EXPECT_EQ(error(), "metadata offset 2: broker 5 is not registered");
}

TEST_F(CatalogReplayTest, AMissingPartitionIsFound) {
  add(proto::TopicRecord{.name = "t", .topic_id = id_of(1)});
  proto::PartitionRecord record;
  record.topic_id = id_of(1);
  record.partition_id = 2'000'000'000;  // costs no more memory than any other
  add(record);
  record.partition_id = 0;
  add(record);
  expect_replayed();
  auto complete = replay.check_complete();
  ASSERT_FALSE(complete.has_value());
  EXPECT_EQ(complete.error(), "topic t has no partition 1 but later ones");
}

TEST_F(CatalogReplayTest, DamagedBatchesAreRefused) {
  add_topic("t", 1, 1);
  std::vector<uint8_t> batch = records.batch(5, 1);
  batch.back() ^= 1;
  EXPECT_FALSE(replay.apply_batch(batch).has_value());
  EXPECT_EQ(replay.find("t"), nullptr);
}

std::vector<uint8_t> golden(const std::string& name) {
  std::ifstream file("tests/golden/metadata/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A log that Apache Kafka 4.4.0 wrote: see tests/golden/metadata/README.md for what was done.
TEST_F(CatalogReplayTest, ReplaysApacheKafkasLog) {
  std::vector<uint8_t> bytes = golden("apache_kafka_4.4.0.log");
  proto::BatchIterator batches(bytes);
  while (auto batch = batches.next()) {
    auto done = replay.apply_batch(batch->bytes().first(batch->size()));
    ASSERT_TRUE(done.has_value()) << done.error();
  }
  ASSERT_FALSE(batches.partial());
  ASSERT_TRUE(replay.check_complete().has_value());
  EXPECT_EQ(replay.end_offset(), 101);
  EXPECT_EQ(replay.last_leader_epoch(), 1);
  auto snapshot = replay.snapshot();
  ASSERT_EQ(snapshot->topics().size(), 2u);
  const TopicInfo* orders = snapshot->find("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders->id.to_string(), "WNvtumlOSdybvPsrWbP3Wg");
  ASSERT_EQ(orders->partitions.size(), 5u);
  ConfigTexts config = {{"cleanup.policy", "compact"}, {"segment.bytes", "2097152"}};
  EXPECT_EQ(orders->config, config);
  const PartitionInfo& first = orders->partitions[0];
  EXPECT_EQ(first.leader, -1);  // it was stopped in good order
  EXPECT_EQ(first.leader_epoch, 1);
  EXPECT_EQ(first.partition_epoch, 1);
  EXPECT_EQ(first.replicas, std::vector<int32_t>{1});
  EXPECT_EQ(first.directory.to_string(), "eyMmjR33a8sq-OMoU6vPQw");
  EXPECT_EQ(snapshot->find("gone")->id.to_string(), "SH8kaINBSAms2j4zFZAbKg");
  EXPECT_EQ(snapshot->find("gone")->partitions.size(), 2u);
  EXPECT_EQ(snapshot->features().at("metadata.version"), 33);
  EXPECT_EQ(snapshot->features().at("transaction.version"), 2);
  ASSERT_NE(replay.broker(1), nullptr);
  EXPECT_TRUE(replay.broker(1)->fenced);
}

TEST(Placement, SpreadsATopicsPartitions) {
  for (int shards : {1, 2, 3, 7}) {
    std::vector<int> count(static_cast<size_t>(shards));
    for (int32_t i = 0; i < shards * 4; ++i) ++count[shard_of("orders", i, shards)];
    EXPECT_EQ(count, std::vector<int>(static_cast<size_t>(shards), 4));
  }
}

TEST(Placement, StartsDependOnTheName) {
  std::vector<int> count(4);
  for (int i = 0; i < 1000; ++i) ++count[shard_of("topic-" + std::to_string(i), 0, 4)];
  for (int n : count) EXPECT_NEAR(n, 250, 60);
}

TEST(Placement, NeverChanges) {
  // Owners may move freely between releases, but not between two starts.
  EXPECT_EQ(shard_of("orders", 0, 5), shard_of("orders", 5, 5));
  EXPECT_EQ(shard_of("orders", 1, 5), (shard_of("orders", 0, 5) + 1) % 5);
}

}  // namespace
}  // namespace pelton::broker
