#include "broker/topology.h"

#include <gtest/gtest.h>

#include "broker/catalog/replay.h"
#include "broker/request.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

class TopologyTest : public ::testing::Test {
 protected:
  TopologyTest() {
    config.node_id = 4;
    config.listeners = {{.name = "IN", .bind = {"", 9092}}, {.name = "OUT", .bind = {"", 9093},
                         .advertised_host = "public.example", .advertised_port = 19093}};
    connection.listener = "IN";
    connection.dialled = {"10.1.2.3", 9092};
  }

  Topology view() { return topology(*snapshot, connection, config); }

  BrokerConfig config;
  ConnectionInfo connection;
  CatalogReplay replay{1, BrokerConfig{}};
  std::shared_ptr<const CatalogSnapshot> snapshot = replay.snapshot();
  proto::Arena arena{1 << 20};
};

TEST_F(TopologyTest, AdvertisesWhatTheClientDialled) {
  ASSERT_EQ(view().brokers().size(), 1u);
  BrokerNode node = view().brokers()[0];
  EXPECT_EQ(node.id.value, 4);
  EXPECT_EQ(node.host, "10.1.2.3");
  EXPECT_EQ(node.port, 9092);
  EXPECT_FALSE(node.rack.has_value());
  EXPECT_EQ(view().controller().value, 4);
}

TEST_F(TopologyTest, AnIpv4ClientOfADualStackSocketDialledIpv4) {
  connection.dialled = {"::ffff:10.1.2.3", 9092};
  EXPECT_EQ(view().brokers()[0].host, "10.1.2.3");
  connection.dialled = {"::1", 9092};
  EXPECT_EQ(view().brokers()[0].host, "::1");
}

TEST_F(TopologyTest, AdvertisesWhatTheListenerSays) {
  connection.listener = "OUT";
  config.rack = "r1";
  BrokerNode node = view().brokers()[0];
  EXPECT_EQ(node.host, "public.example");
  EXPECT_EQ(node.port, 19093);
  EXPECT_EQ(node.rack, "r1");
}

TEST_F(TopologyTest, LeadersReplicasAndCoordinators) {
  PartitionInfo ours{.leader = 4, .replicas = {4, 9}, .isr = {4}, .directory = {}};
  PartitionInfo other{.leader = 9, .replicas = {9}, .isr = {9}, .directory = {}};
  EXPECT_EQ(view().leader(ours).value, 4);
  EXPECT_EQ(view().leader(other).value, -1);
  EXPECT_EQ(view().replicas(ours, arena).size(), 2u);
  EXPECT_EQ(view().in_sync(ours, arena).size(), 1u);
  ASSERT_EQ(view().offline(ours, arena).size(), 1u);
  EXPECT_EQ(view().offline(ours, arena)[0].value, 9);
  EXPECT_EQ(view().coordinator("__consumer_offsets", 0), nullptr);

  MetadataRecords records;
  proto::BrokerId self(4);
  proto::PartitionRecord partition;
  partition.partition_id = 0;
  partition.topic_id.bytes[0] = 1;
  partition.replicas = {&self, 1};
  partition.leader = self;
  records.add(proto::TopicRecord{.name = "__consumer_offsets", .topic_id = partition.topic_id});
  records.add(partition);
  for (size_t i = 0; i < records.count(); ++i) ASSERT_TRUE(replay.apply(records.value(i), 0).has_value());
  snapshot = replay.snapshot();
  Topology changed = view();
  ASSERT_NE(changed.coordinator("__consumer_offsets", 0), nullptr);
  EXPECT_EQ(changed.coordinator("__consumer_offsets", 0)->port, 9092);
  EXPECT_EQ(changed.coordinator("__consumer_offsets", 1), nullptr);
}

}  // namespace
}  // namespace pelton::broker
