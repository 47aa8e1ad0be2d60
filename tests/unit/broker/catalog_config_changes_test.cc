#include "broker/catalog/config_changes.h"

#include <gtest/gtest.h>

#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using enum AlterOperation;
using enum ConfigResourceType;

constexpr int32_t kNode = 7;

BrokerConfig node_config() {
  BrokerConfig config;
  config.node_id = kNode;
  return config;
}

class ConfigChangesTest : public ::testing::Test {
 protected:
  ConfigChangesTest() {
    MetadataRecords records;
    Uuid id;
    id.bytes[0] = 1;
    records.add(proto::TopicRecord{.name = "t", .topic_id = id});
    apply(records);
  }

  void apply(const MetadataRecords& records) {
    for (size_t i = 0; i < records.count(); ++i) {
      auto done = state.apply(records.value(i), 0);
      ASSERT_TRUE(done.has_value()) << done.error();
    }
  }

  // Plans and, when it went well, applies. `count`: how many records.
  ErrorCode alter(ConfigResourceType type, std::string_view name, std::vector<ConfigAlteration> alterations,
                  bool replaces = false) {
    ConfigChange change{.type = static_cast<int8_t>(type), .name = name, .replaces = replaces,
                        .alterations = std::move(alterations)};
    MetadataRecords records;
    ConfigFault fault = check_alterations(change);
    if (fault.error == ErrorCode::kNone) fault = plan_config_change(state, change, records);
    EXPECT_EQ(fault.error == ErrorCode::kNone, fault.why.empty());
    EXPECT_TRUE(fault.error == ErrorCode::kNone || records.empty());
    count = records.count();
    why = fault.why;
    apply(records);
    return fault.error;
  }
  static ConfigAlteration op(AlterOperation operation, std::string_view name,
                             std::optional<std::string_view> value = std::nullopt) {
    return {.name = name, .operation = static_cast<int8_t>(operation), .value = value};
  }
  ConfigTexts own(ConfigResourceType type, const std::string& name) { return state.config(type, name); }

  CatalogReplay state{2, node_config()};
  size_t count = 0;
  std::string why;
};

TEST_F(ConfigChangesTest, ABrokersKeysAreBounded) {
  std::vector<std::string> names;
  for (int i = 0; i < 2'001; ++i) names.push_back("my.own.setting." + std::to_string(i));
  std::vector<ConfigAlteration> most;
  for (int i = 0; i < 2'000; ++i) most.push_back(op(kSet, names[static_cast<size_t>(i)], "1"));
  EXPECT_EQ(alter(kBroker, "7", most), ErrorCode::kNone) << why;
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, names.back(), "1")}), ErrorCode::kPolicyViolation);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, names.front(), "2"), op(kDelete, names[1])}), ErrorCode::kNone);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, names.back(), "1")}), ErrorCode::kNone);
}

TEST_F(ConfigChangesTest, TheBytesOfAResourceAreBounded) {
  const std::string most(32'767, 'x');
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "my.own.setting", most + "x")}), ErrorCode::kInvalidConfig);
  EXPECT_NE(why.find("my.own.setting: a value has at most 32767 bytes, not 32768"), std::string::npos) << why;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("my.own.setting." + std::to_string(i));
  std::vector<ConfigAlteration> most_keys;
  for (size_t i = 0; i < 31; ++i) most_keys.push_back(op(kSet, names[i], most));
  EXPECT_EQ(alter(kBroker, "7", most_keys), ErrorCode::kNone) << why;
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, names[31], most)}), ErrorCode::kInvalidConfig);
  EXPECT_NE(why.find("at most 1048576 bytes together"), std::string::npos) << why;
  EXPECT_EQ(alter(kBroker, "7", {op(kDelete, names[0]), op(kSet, names[31], most)}), ErrorCode::kNone) << why;

  // A value that grows by appending; and of other resources.
  constexpr std::string_view kList = "leader.replication.throttled.replicas";
  std::string replicas = "0:1";
  for (int i = 1; replicas.size() < 32'700; ++i) replicas += "," + std::to_string(i) + ":1";
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, kList, replicas)}), ErrorCode::kNone) << why;
  EXPECT_EQ(alter(kTopic, "t", {op(kAppend, kList, "700000:1,700001:1,700002:1,700003:1,700004:1,700005:1,700006:1")}),
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kGroup, "g", {op(kSet, "consumer.session.timeout.ms", most + "x")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kClientMetrics, "c", {op(kSet, "metrics", most + "x")}), ErrorCode::kInvalidConfig);
}

TEST_F(ConfigChangesTest, ListsKeepTheirOrderAndWhatIsThereTwice) {
  constexpr std::string_view kKey = "leader.replication.throttled.replicas";
  auto after = [&](AlterOperation operation, std::string_view elements) {
    EXPECT_EQ(alter(kTopic, "t", {op(operation, kKey, elements)}), ErrorCode::kNone) << why;
    return own(kTopic, "t").at(std::string(kKey));
  };
  EXPECT_EQ(after(kSet, "3:1,1:1,3:1,2:1"), "3:1,1:1,3:1,2:1");
  EXPECT_EQ(after(kAppend, "9:1,1:1,9:1, 4:1"), "3:1,1:1,3:1,2:1,9:1,4:1");
  EXPECT_EQ(after(kSubtract, "3:1,7:1"), "1:1,3:1,2:1,9:1,4:1");
  EXPECT_EQ(after(kAppend, "3:1"), "1:1,3:1,2:1,9:1,4:1");
  EXPECT_EQ(after(kSet, "5:1,5:1,5:1"), "5:1,5:1,5:1");
  EXPECT_EQ(after(kSubtract, "5:1,5:1"), "5:1");
}

TEST_F(ConfigChangesTest, SetsAndDeletes) {
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "5"), op(kSet, "segment.bytes", "2000000")}),
            ErrorCode::kNone);
  EXPECT_EQ(own(kTopic, "t"), (ConfigTexts{{"retention.ms", "5"}, {"segment.bytes", "2000000"}}));
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 5);
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "5")}), ErrorCode::kNone);
  EXPECT_EQ(count, 0u);  // nothing to say
  EXPECT_EQ(alter(kTopic, "t", {op(kDelete, "retention.ms"), op(kDelete, "no.such.key", "x")}),
            ErrorCode::kNone);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(own(kTopic, "t"), (ConfigTexts{{"segment.bytes", "2000000"}}));
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 604'800'000);
}

TEST_F(ConfigChangesTest, AppendsToAndSubtractsFromLists) {
  EXPECT_EQ(alter(kTopic, "t", {op(kAppend, "cleanup.policy", "compact,delete")}), ErrorCode::kNone);
  EXPECT_EQ(own(kTopic, "t").at("cleanup.policy"), "delete,compact");
  EXPECT_EQ(alter(kTopic, "t", {op(kSubtract, "cleanup.policy", "delete")}), ErrorCode::kNone);
  EXPECT_EQ(own(kTopic, "t").at("cleanup.policy"), "compact");
  EXPECT_EQ(alter(kTopic, "t", {op(kSubtract, "cleanup.policy", "delete,compact")}), ErrorCode::kNone);
  EXPECT_EQ(own(kTopic, "t").at("cleanup.policy"), "");
  EXPECT_EQ(alter(kTopic, "t", {op(kAppend, "retention.ms", "5")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kTopic, "t", {op(kAppend, "no.such", "5")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kTopic, "t", {op(kAppend, "cleanup.policy", "shred")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kBroker, "", {op(kAppend, "log.cleanup.policy", "compact")}), ErrorCode::kNone);
  EXPECT_EQ(own(kBroker, "").at("log.cleanup.policy"), "delete,compact");
}

TEST_F(ConfigChangesTest, RefusesOneResourceAsAWhole) {
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "5"), op(kSet, "segment.bytes", "x")}),
            ErrorCode::kInvalidConfig);
  EXPECT_TRUE(own(kTopic, "t").empty());
  EXPECT_EQ(alter(kTopic, "", {}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kTopic, "a b", {}), ErrorCode::kInvalidTopicException);
  EXPECT_EQ(alter(kTopic, "none", {}), ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(alter(kTopic, "none", {op(kSet, "segment.bytes", "x")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms")}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "1"), op(kDelete, "retention.ms")}),
            ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kTopic, "t", {op(static_cast<AlterOperation>(9), "retention.ms", "1")}),
            ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kBrokerLogger, "7", {}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(static_cast<ConfigResourceType>(99), "7", {}), ErrorCode::kInvalidRequest);
}

TEST_F(ConfigChangesTest, ReplacesTheWhole) {
  alter(kTopic, "t", {op(kSet, "retention.ms", "5"), op(kSet, "segment.bytes", "2000000")});
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "6")}, true), ErrorCode::kNone);
  EXPECT_EQ(own(kTopic, "t"), (ConfigTexts{{"retention.ms", "6"}}));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(alter(kTopic, "t", {}, true), ErrorCode::kNone);
  EXPECT_TRUE(own(kTopic, "t").empty());
}

TEST_F(ConfigChangesTest, BrokersAndTheirTopics) {
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 604'800'000);
  EXPECT_EQ(alter(kBroker, "", {op(kSet, "log.retention.ms", "9")}), ErrorCode::kNone);
  auto before = state.snapshot();
  EXPECT_EQ(before->find("t")->log_config.retention_ms, 9);
  EXPECT_EQ(before->broker_config()->log_defaults.retention_ms, 9);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "log.retention.ms", "8")}), ErrorCode::kNone);
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 8);
  EXPECT_EQ(before->find("t")->log_config.retention_ms, 9);  // snapshots do not change
  EXPECT_EQ(alter(kTopic, "t", {op(kSet, "retention.ms", "7")}), ErrorCode::kNone);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "log.retention.ms", "6"), op(kSet, "log.roll.ms", "3")}),
            ErrorCode::kNone);
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 7);
  EXPECT_EQ(state.snapshot()->find("t")->log_config.segment_ms, 3);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "log.retention.ms", "6")}), ErrorCode::kNone);
  EXPECT_EQ(count, 1u);  // recorded though it is the same
  EXPECT_EQ(alter(kBroker, "7", {}, true), ErrorCode::kNone);
  alter(kTopic, "t", {}, true);
  EXPECT_EQ(state.snapshot()->find("t")->log_config.retention_ms, 9);

  EXPECT_EQ(alter(kBroker, "8", {op(kSet, "log.retention.ms", "6")}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kBroker, "x", {}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "num.partitions", "6")}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "log.retention.ms", "x")}), ErrorCode::kInvalidRequest);
}

TEST_F(ConfigChangesTest, AnUnsoundPersistedValueIsNoObstacle) {
  MetadataRecords records;
  records.add(proto::ConfigRecord{.resource_type = 4, .resource_name = "7", .name = "num.partitions",
                                  .value = "3"});
  apply(records);
  EXPECT_EQ(state.broker_config()->num_partitions, 1);
  EXPECT_EQ(alter(kBroker, "7", {op(kSet, "log.retention.ms", "6")}), ErrorCode::kNone);
  EXPECT_EQ(state.broker_config()->log_defaults.retention_ms, 6);
  EXPECT_EQ(alter(kBroker, "7", {op(kDelete, "num.partitions")}), ErrorCode::kNone);
}

TEST_F(ConfigChangesTest, GroupsAndSubscriptions) {
  EXPECT_EQ(alter(kGroup, "g", {op(kSet, "consumer.session.timeout.ms", "50000")}), ErrorCode::kNone);
  EXPECT_EQ(alter(kGroup, "g", {op(kSet, "consumer.session.timeout.ms", "1")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kGroup, "", {}), ErrorCode::kInvalidRequest);
  // Lists of these two can only be set, as in Apache Kafka.
  EXPECT_EQ(alter(kGroup, "g", {op(kAppend, "streams.rack.aware.assignment.tags", "a")}),
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kClientMetrics, "m", {op(kSet, "metrics", "a,b")}), ErrorCode::kNone);
  EXPECT_EQ(alter(kClientMetrics, "m", {op(kAppend, "metrics", "c")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(alter(kClientMetrics, "m", {op(kSet, "no.such", "c")}), ErrorCode::kInvalidRequest);
  EXPECT_EQ(alter(kClientMetrics, "", {}), ErrorCode::kInvalidRequest);
  auto shown = state.snapshot()->configs();
  EXPECT_EQ(shown->size(), 2u);
  EXPECT_EQ(shown->at({kClientMetrics, "m"}).at("metrics"), "a,b");
  EXPECT_EQ(state.snapshot()->configs(), shown);  // shared while nothing changes
  EXPECT_EQ(alter(kClientMetrics, "m", {op(kDelete, "metrics")}), ErrorCode::kNone);
  EXPECT_FALSE(state.snapshot()->configs()->contains({kClientMetrics, "m"}));
}

}  // namespace
}  // namespace pelton::broker
