#include "broker/catalog/topic_changes.h"

#include <gtest/gtest.h>

#include "broker/catalog/internal_topics.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

Uuid id_of(uint8_t n) {
  Uuid id;
  id.bytes[0] = n;
  return id;
}

class TopicChangesTest : public ::testing::Test {
 protected:
  // Plans and, when it went well, applies.
  TopicOutcome create(const NewTopic& topic) {
    MetadataRecords records;
    TopicOutcome outcome = plan_create_topic(state, config, home, topic, id_of(++ids), records);
    EXPECT_EQ(records.empty(), outcome.error != ErrorCode::kNone);
    apply(records);
    return outcome;
  }
  ErrorCode create_error(NewTopic topic) { return create(topic).error; }

  TopicOutcome grow(std::string_view topic, int32_t count,
                    std::optional<std::vector<std::vector<int32_t>>> assignments = std::nullopt) {
    MetadataRecords records;
    TopicOutcome outcome = plan_create_partitions(state, home, topic, count, assignments, records);
    EXPECT_EQ(records.empty(), outcome.error != ErrorCode::kNone);
    apply(records);
    return outcome;
  }

  void apply(const MetadataRecords& records) {
    for (size_t i = 0; i < records.count(); ++i) {
      auto done = state.apply(records.value(i), 0);
      ASSERT_TRUE(done.has_value()) << done.error();
    }
  }

  BrokerConfig config;
  ReplicaHome home{.node_id = 7, .directory = id_of(200)};
  CatalogReplay state{2, BrokerConfig{}};
  uint8_t ids = 0;
};

TEST_F(TopicChangesTest, CreatesWithDefaults) {
  config.num_partitions = 3;
  TopicOutcome outcome = create({.name = "t", .assignments = {}, .configs = {{"retention.ms", "5"}}});
  EXPECT_EQ(outcome.error, ErrorCode::kNone);
  EXPECT_EQ(outcome.partitions, 3);
  EXPECT_EQ(outcome.replication_factor, 1);
  auto snapshot = state.snapshot();
  const TopicInfo* topic = snapshot->find("t");
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->id, outcome.id);
  EXPECT_EQ(topic->log_config.retention_ms, 5);
  ASSERT_EQ(topic->partitions.size(), 3u);
  EXPECT_EQ(topic->partitions[2].leader, 7);
  EXPECT_EQ(topic->partitions[2].leader_epoch, 0);
  EXPECT_EQ(topic->partitions[2].replicas, std::vector<int32_t>{7});
  EXPECT_EQ(topic->partitions[2].isr, std::vector<int32_t>{7});
}

TEST_F(TopicChangesTest, DirectoriesAreRecordedFromTheirLevelOn) {
  create({.name = "old", .assignments = {}, .configs = {}});
  MetadataRecords level;
  level.add(proto::FeatureLevelRecord{.name = "metadata.version", .feature_level = 33});
  apply(level);
  EXPECT_EQ(partition_record_version(state), 2);
  create({.name = "new", .assignments = {}, .configs = {}});
  EXPECT_TRUE(state.find("old")->partitions[0].directory.is_zero());
  EXPECT_EQ(state.find("new")->partitions[0].directory, id_of(200));
}

TEST_F(TopicChangesTest, RefusesBadNames) {
  for (std::string name : {std::string(), std::string("."), std::string(".."), std::string("a b"),
                           std::string("a/b"), std::string("\xC3\xA9"), std::string(250, 'x')}) {
    EXPECT_EQ(create_error({.name = name, .assignments = {}, .configs = {}}),
              ErrorCode::kInvalidTopicException)
        << name;
  }
  EXPECT_EQ(create_error({.name = std::string(249, 'x'), .assignments = {}, .configs = {}}),
            ErrorCode::kNone);
  EXPECT_EQ(create_error({.name = "A.b_c-9", .assignments = {}, .configs = {}}), ErrorCode::kNone);
}

TEST_F(TopicChangesTest, RefusesExistingAndCollidingNames) {
  create({.name = "a.b", .assignments = {}, .configs = {}});
  EXPECT_EQ(create_error({.name = "a.b", .assignments = {}, .configs = {}}),
            ErrorCode::kTopicAlreadyExists);
  TopicOutcome collides = create({.name = "a_b", .assignments = {}, .configs = {}});
  EXPECT_EQ(collides.error, ErrorCode::kInvalidTopicException);
  EXPECT_EQ(collides.message, "topic a_b collides with topic a.b");
  EXPECT_EQ(create_error({.name = "a-b", .assignments = {}, .configs = {}}), ErrorCode::kNone);
}

TEST_F(TopicChangesTest, RefusesBadCounts) {
  for (int32_t partitions : {0, -2, INT32_MIN}) {
    EXPECT_EQ(create_error({.name = "t", .partitions = partitions, .assignments = {}, .configs = {}}),
              ErrorCode::kInvalidPartitions);
  }
  for (int16_t factor : {int16_t{0}, int16_t{-2}, int16_t{2}, int16_t{INT16_MAX}}) {
    EXPECT_EQ(create_error({.name = "t", .replication_factor = factor, .assignments = {}, .configs = {}}),
              ErrorCode::kInvalidReplicationFactor);
  }
  EXPECT_EQ(create_error({.name = "t", .partitions = 10'001, .assignments = {}, .configs = {}}),
            ErrorCode::kPolicyViolation);
  EXPECT_EQ(create_error({.name = "t", .partitions = INT32_MAX, .assignments = {}, .configs = {}}),
            ErrorCode::kPolicyViolation);
}

TEST_F(TopicChangesTest, RefusesBadConfigs) {
  EXPECT_EQ(create_error({.name = "t", .assignments = {}, .configs = {{"retention.ms", "x"}}}),
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(create_error({.name = "t", .assignments = {}, .configs = {{"no.such.key", "1"}}}),
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(create_error({.name = "t", .assignments = {}, .configs = {{"retention.ms", std::nullopt}}}),
            ErrorCode::kInvalidConfig);
}

TEST_F(TopicChangesTest, ManualAssignments) {
  TopicOutcome outcome = create({.name = "t", .assignments = {{1, {7}}, {0, {7}}}, .configs = {}});
  EXPECT_EQ(outcome.error, ErrorCode::kNone);
  EXPECT_EQ(outcome.partitions, 2);
  auto error = [&](std::vector<ManualAssignment> assignments) {
    return create_error({.name = "u", .assignments = std::move(assignments), .configs = {}});
  };
  EXPECT_EQ(error({{0, {}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(error({{0, {8}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(error({{0, {7, 7}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(error({{1, {7}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(error({{0, {7}}, {0, {7}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(error({{0, {7}}, {-1, {7}}}), ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(create_error({.name = "u", .partitions = 1, .assignments = {{0, {7}}}, .configs = {}}),
            ErrorCode::kInvalidRequest);
  EXPECT_EQ(create_error({.name = "u", .replication_factor = 1, .assignments = {{0, {7}}}, .configs = {}}),
            ErrorCode::kInvalidRequest);
}

TEST_F(TopicChangesTest, AddsPartitions) {
  create({.name = "t", .partitions = 2, .assignments = {}, .configs = {}});
  EXPECT_EQ(grow("none", 3).error, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(grow("t", 2).error, ErrorCode::kInvalidPartitions);
  EXPECT_EQ(grow("t", 1).error, ErrorCode::kInvalidPartitions);
  EXPECT_EQ(grow("t", -1).error, ErrorCode::kInvalidPartitions);
  EXPECT_EQ(grow("t", INT32_MAX).error, ErrorCode::kPolicyViolation);
  EXPECT_EQ(grow("t", 4, {{{7}}}).error, ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(grow("t", 3, {{{8}}}).error, ErrorCode::kInvalidReplicaAssignment);
  EXPECT_EQ(grow("t", 3, {{{7}}}).error, ErrorCode::kNone);
  EXPECT_EQ(grow("t", 6).error, ErrorCode::kNone);
  ASSERT_EQ(state.find("t")->partitions.size(), 6u);
  EXPECT_EQ(state.find("t")->partitions[5].index, 5);
}

TEST_F(TopicChangesTest, InternalTopicsStayAsTheyAre) {
  config.offsets_topic_num_partitions = 4;
  EXPECT_EQ(create_error(internal_topic(kOffsetsTopic, config)), ErrorCode::kNone);
  auto snapshot = state.snapshot();
  const TopicInfo* offsets = snapshot->find(kOffsetsTopic);
  EXPECT_EQ(offsets->partitions.size(), 4u);
  EXPECT_TRUE(offsets->log_config.compact_policy);
  EXPECT_FALSE(offsets->log_config.delete_policy);
  EXPECT_EQ(offsets->log_config.segment_bytes, 104'857'600);
  EXPECT_EQ(grow(kOffsetsTopic, 8).error, ErrorCode::kInvalidRequest);
  MetadataRecords records;
  EXPECT_EQ(plan_delete_topic(*offsets, records).error, ErrorCode::kInvalidRequest);
  EXPECT_TRUE(records.empty());
}

TEST_F(TopicChangesTest, Deletes) {
  create({.name = "t", .assignments = {}, .configs = {{"retention.ms", "5"}}});
  MetadataRecords records;
  EXPECT_EQ(plan_delete_topic(*state.snapshot()->find("t"), records).error, ErrorCode::kNone);
  apply(records);
  EXPECT_EQ(state.find("t"), nullptr);
  create({.name = "t", .assignments = {}, .configs = {}});
  EXPECT_TRUE(state.snapshot()->find("t")->config.empty());
}

}  // namespace
}  // namespace pelton::broker
