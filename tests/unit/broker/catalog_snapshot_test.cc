// What a snapshot says, held against the state it was made from and against one that Apache Kafka wrote.
#include "broker/catalog/snapshot_records.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "broker/catalog/snapshot_file.h"
#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

using Values = std::vector<std::vector<uint8_t>>;

std::vector<uint8_t> golden(const std::string& name) {
  std::ifstream file("tests/golden/metadata/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Replays the batches that end at or before `end_offset`.
void replay_log(CatalogReplay& replay, const std::vector<uint8_t>& bytes, int64_t end_offset = INT64_MAX) {
  proto::BatchIterator batches(bytes);
  while (auto batch = batches.next()) {
    if (batch->next_offset() > end_offset) return;
    auto done = replay.apply_batch(batch->bytes().first(batch->size()));
    ASSERT_TRUE(done.has_value()) << done.error();
  }
}

Values snapshot_of(CatalogReplay& replay, size_t piece_bytes) {
  SnapshotRecords records(replay, replay.snapshot());
  Values values;
  while (true) {
    MetadataRecords piece;
    if (!records.next(piece, piece_bytes)) return values;
    for (size_t i = 0; i < piece.count(); ++i) {
      values.emplace_back(piece.value(i).begin(), piece.value(i).end());
    }
  }
}

// A broker's features in the order of their names: the list has no order.
std::vector<uint8_t> with_sorted_features(const std::vector<uint8_t>& value) {
  auto frame = read_metadata_frame(value);
  if (!frame || frame->type != static_cast<uint32_t>(proto::RegisterBrokerRecord::kRecordType)) return value;
  proto::Arena arena(proto::Arena::limit_for(value.size()));
  proto::WireReader in(frame->body, arena);
  proto::RegisterBrokerRecord record;
  record.decode(in, frame->version);
  std::ranges::sort(record.features, {}, &proto::RegisterBrokerRecord::BrokerFeature::name);
  MetadataRecords again;
  again.add(record, frame->version);
  return {again.value(0).begin(), again.value(0).end()};
}

Values sorted(Values values) {
  for (auto& value : values) value = with_sorted_features(value);
  std::ranges::sort(values);
  return values;
}

// A snapshot of the state that another state's snapshot makes is the same snapshot.
void expect_same_again(CatalogReplay& replay) {
  for (size_t piece_bytes : {size_t{1}, size_t{100}, size_t{1} << 20}) {
    Values values = snapshot_of(replay, piece_bytes);
    CatalogReplay again(3, BrokerConfig{});
    for (const auto& value : values) {
      auto done = again.apply(value, 0);
      ASSERT_TRUE(done.has_value()) << done.error();
    }
    ASSERT_TRUE(again.check_complete().has_value());
    EXPECT_TRUE(snapshot_of(again, piece_bytes) == values);
  }
}

TEST(Snapshot, SaysWhatApacheKafkasSays) {
  CatalogReplay replay(1, BrokerConfig{});
  replay_log(replay, golden("apache_kafka_4.4.0_snapshots.log"), 251);
  EXPECT_EQ(replay.end_offset(), 251);
  EXPECT_EQ(replay.last_leader_epoch(), 2);
  std::vector<uint8_t> file = golden("apache_kafka_4.4.0_251-2.checkpoint");
  EXPECT_EQ(last_contained_timestamp(file), replay.last_timestamp());
  Values theirs;
  proto::BatchIterator batches(file);
  while (auto batch = batches.next()) {
    if (batch->control()) continue;
    proto::RecordIterator records = batch->records();
    proto::RecordView record;
    while (records.next(record)) theirs.emplace_back(record.value->begin(), record.value->end());
  }
  EXPECT_EQ(theirs.size(), 80u);
  Values ours = sorted(snapshot_of(replay, 500));
  theirs = sorted(theirs);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i], theirs[i]);
  expect_same_again(replay);
}

TEST(Snapshot, LosesNothingOfApacheKafkasLogs) {
  for (const char* name : {"apache_kafka_4.4.0.log", "apache_kafka_4.4.0_snapshots.log"}) {
    CatalogReplay replay(1, BrokerConfig{});
    replay_log(replay, golden(name));
    expect_same_again(replay);
  }
}

Uuid id_of(uint8_t n) {
  Uuid id;
  id.bytes[0] = n;
  return id;
}

// One record of everything that a cluster of several nodes may say.
class SnapshotOfAll : public ::testing::Test {
 protected:
  template <class T>
  void apply(const T& record, int16_t version = T::kMaxVersion) {
    MetadataRecords records;
    records.add(record, version);
    auto done = replay.apply(records.value(0), 0);
    ASSERT_TRUE(done.has_value()) << done.error();
  }
  size_t count(int16_t type) {
    size_t found = 0;
    for (const auto& value : snapshot_of(replay, 1 << 20)) {
      auto frame = read_metadata_frame(value);
      if (frame && frame->type == static_cast<uint32_t>(type)) ++found;
    }
    return found;
  }

  CatalogReplay replay{1, BrokerConfig{}};
};

TEST_F(SnapshotOfAll, PartitionsOfSeveralReplicas) {
  apply(proto::FeatureLevelRecord{.name = "metadata.version", .feature_level = 33});
  apply(proto::FeatureLevelRecord{.name = "eligible.leader.replicas.version", .feature_level = 1});
  apply(proto::TopicRecord{.name = "t", .topic_id = id_of(1)});
  proto::BrokerId replicas[] = {proto::BrokerId(1), proto::BrokerId(2), proto::BrokerId(3)};
  int32_t isr[] = {1, 2};
  Uuid directories[] = {id_of(11), id_of(12), id_of(13)};
  proto::PartitionRecord record;
  record.partition_id = 0;
  record.topic_id = id_of(1);
  record.replicas = replicas;
  record.isr = isr;
  record.leader = replicas[0];
  record.leader_recovery_state = 1;
  record.leader_epoch = 4;
  record.partition_epoch = 9;
  record.adding_replicas = std::span(replicas).subspan(2);
  record.removing_replicas = std::span(replicas).first(1);
  record.directories = directories;
  record.eligible_leader_replicas = std::span(replicas).subspan(2);
  apply(record);
  MetadataRecords wanted;
  wanted.add(record);
  auto has_wanted = [&] {
    Values values = snapshot_of(replay, 1 << 20);
    Bytes bytes = wanted.value(0);
    return std::ranges::count(values, std::vector<uint8_t>(bytes.begin(), bytes.end())) == 1;
  };
  EXPECT_TRUE(has_wanted());
  EXPECT_EQ(replay.snapshot()->find("t")->partitions[0].directory, id_of(11));

  proto::PartitionChangeRecord change;
  change.partition_id = 0;
  change.topic_id = id_of(1);
  change.adding_replicas = std::span<proto::BrokerId>();
  change.last_known_elr = std::span(replicas).first(1);
  change.leader_recovery_state = 0;
  apply(change);
  record.adding_replicas = {};
  record.last_known_elr = std::span(replicas).first(1);
  record.leader_recovery_state = 0;
  record.partition_epoch = 10;
  wanted.clear();
  wanted.add(record);
  EXPECT_TRUE(has_wanted());

  apply(proto::ClearElrRecord{.topic_name = "t"});
  record.eligible_leader_replicas = std::nullopt;
  record.last_known_elr = std::nullopt;
  wanted.clear();
  wanted.add(record);
  EXPECT_TRUE(has_wanted());
  expect_same_again(replay);
}

TEST_F(SnapshotOfAll, BrokersAsTheyAreNow) {
  proto::RegisterBrokerRecord::BrokerFeature feature{
      .name = "metadata.version", .min_supported_version = 7, .max_supported_version = 33};
  Uuid directory = id_of(5), cordoned = id_of(6);
  proto::RegisterBrokerRecord record;
  record.broker_id = proto::BrokerId(1);
  record.incarnation_id = id_of(9);
  record.broker_epoch = 3;
  record.features = {&feature, 1};
  record.rack = "r";
  record.fenced = true;
  apply(record);
  apply(proto::UnfenceBrokerRecord{.id = proto::BrokerId(1), .epoch = 3});
  proto::BrokerRegistrationChangeRecord change;
  change.broker_id = proto::BrokerId(1);
  change.broker_epoch = 3;
  change.in_controlled_shutdown = 1;
  change.log_dirs = {&directory, 1};
  change.cordoned_log_dirs = std::span(&cordoned, 1);
  apply(change);
  record.fenced = false;
  record.in_controlled_shutdown = true;
  record.log_dirs = {&directory, 1};
  record.cordoned_log_dirs = std::span(&cordoned, 1);
  MetadataRecords wanted;
  wanted.add(record);
  Bytes bytes = wanted.value(0);
  EXPECT_EQ(snapshot_of(replay, 1), (Values{{bytes.begin(), bytes.end()}}));
  expect_same_again(replay);
}

TEST_F(SnapshotOfAll, WhatNothingHereActsOn) {
  using Quota = proto::ClientQuotaRecord;
  auto quota = [&](std::optional<std::string_view> user, double value, bool remove) {
    Quota::EntityData entity{.entity_type = "user", .entity_name = user};
    Quota record;
    record.entity = {&entity, 1};
    record.key = "producer_byte_rate";
    record.value = value;
    record.remove = remove;
    apply(record);
  };
  quota("a", 1, false);
  quota("a", 2, false);
  quota(std::nullopt, 3, false);
  EXPECT_EQ(count(Quota::kRecordType), 2u);
  quota("a", 0, true);
  EXPECT_EQ(count(Quota::kRecordType), 1u);

  apply(proto::UserScramCredentialRecord{.name = "a", .mechanism = 1, .iterations = 4096});
  apply(proto::UserScramCredentialRecord{.name = "a", .mechanism = 2, .iterations = 4096});
  apply(proto::RemoveUserScramCredentialRecord{.name = "a", .mechanism = 1});
  EXPECT_EQ(count(proto::UserScramCredentialRecord::kRecordType), 1u);
  apply(proto::AccessControlEntryRecord{.id = id_of(1)});
  apply(proto::AccessControlEntryRecord{.id = id_of(2)});
  apply(proto::RemoveAccessControlEntryRecord{.id = id_of(1)});
  EXPECT_EQ(count(proto::AccessControlEntryRecord::kRecordType), 1u);
  apply(proto::DelegationTokenRecord{.token_id = "x"});
  apply(proto::DelegationTokenRecord{.token_id = "y"});
  apply(proto::RemoveDelegationTokenRecord{.token_id = "x"});
  EXPECT_EQ(count(proto::DelegationTokenRecord::kRecordType), 1u);
  apply(proto::RegisterControllerRecord{.controller_id = 1});
  apply(proto::RegisterControllerRecord{.controller_id = 2});
  apply(proto::UnregisterControllerRecord{.controller_id = 1});
  EXPECT_EQ(count(proto::RegisterControllerRecord::kRecordType), 1u);
  apply(proto::NoOpRecord{});
  EXPECT_EQ(count(proto::NoOpRecord::kRecordType), 0u);
  apply(proto::ConfigRecord{.resource_type = 32, .resource_name = "g", .name = "k", .value = "v"});
  EXPECT_EQ(count(proto::ConfigRecord::kRecordType), 1u);
  expect_same_again(replay);
}

TEST(SnapshotFile, Names) {
  SnapshotName name{.end_offset = 251, .epoch = 2};
  EXPECT_EQ(name.file(), "00000000000000000251-0000000002.checkpoint");
  EXPECT_EQ(parse_snapshot_name(name.file()), name);
  EXPECT_FALSE(parse_snapshot_name("00000000000000000251-0000000002.checkpoint.part"));
  EXPECT_FALSE(parse_snapshot_name("00000000000000000251_0000000002.checkpoint"));
  EXPECT_FALSE(parse_snapshot_name("0000000000000000025x-0000000002.checkpoint"));
  EXPECT_FALSE(parse_snapshot_name("251-2.checkpoint"));
}

// The quorum's own records of a cluster whose voters can change go into the header.
TEST(SnapshotFile, KeepsTheVoters) {
  proto::BatchBuilder control({.partition_leader_epoch = 7, .control = true});
  std::vector<uint8_t> version = {0, 0, 0, 1, 0}, voters = {0, 0, 1, 0};
  control.append_control(5, proto::ControlType::kKraftVersion, version);
  control.append_control(5, proto::ControlType::kKraftVoters, voters);
  std::vector<uint8_t> batch;
  ASSERT_TRUE(control.build(batch).has_value());
  CatalogReplay replay(1, BrokerConfig{});
  ASSERT_TRUE(replay.apply_batch(batch).has_value());
  EXPECT_EQ(replay.kraft_version(), version);

  SnapshotBatches batches(7, 99);
  std::vector<uint8_t> file = batches.header(replay);
  std::vector<uint8_t> footer = batches.footer();
  EXPECT_EQ(last_contained_timestamp(file), 5);
  file.insert(file.end(), footer.begin(), footer.end());
  CatalogReplay again(1, BrokerConfig{});
  replay_log(again, file);
  EXPECT_EQ(again.kraft_version(), version);
  EXPECT_EQ(again.voters(), voters);
  EXPECT_EQ(again.end_offset(), 4);  // header, version, voters, footer
}

}  // namespace
}  // namespace pelton::broker
