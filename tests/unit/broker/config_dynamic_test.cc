#include "broker/config/dynamic_config.h"

#include <gtest/gtest.h>

#include "broker/config/client_metrics_keys.h"
#include "broker/config/group_keys.h"
#include "broker/config/load_config.h"

namespace pelton::broker {
namespace {

BrokerConfig loaded(std::string text = {}) {
  std::vector<std::string> notices;
  auto config = load_config({.file_name = "f", .file_text = std::move(text), .environment = {}, .overrides = {}},
                            notices);
  if (config) return *config;
  ADD_FAILURE() << config.error().front();
  return {};
}

std::string error_of(const BrokerConfig& now, const ConfigTexts& texts, bool per_broker = true) {
  auto checked = check_dynamic(now, texts, per_broker);
  return checked ? "" : checked.error();
}

TEST(DynamicConfig, OfThisBrokerOverThoseOfAllOverFilesOverDefaults) {
  BrokerConfig files = loaded("log.retention.hours=1\nlog.segment.bytes=2000000");
  EXPECT_EQ(files.log_defaults.retention_ms, 3'600'000);
  BrokerConfig all = with_dynamic(files, {{"log.retention.ms", "7"}, {"message.max.bytes", "99"}}, {});
  EXPECT_EQ(all.log_defaults.retention_ms, 7);
  EXPECT_EQ(all.log_defaults.max_message_bytes, 99);
  EXPECT_EQ(all.log_defaults.segment_bytes, 2'000'000);
  BrokerConfig one = with_dynamic(files, {{"log.retention.ms", "7"}}, {{"log.retention.ms", "8"}});
  EXPECT_EQ(one.log_defaults.retention_ms, 8);
  // Taken back, the file's holds again.
  EXPECT_TRUE(with_dynamic(files, {}, {}).log_defaults == files.log_defaults);
}

TEST(DynamicConfig, WhatIsUnsoundIsLeftOutAndTold) {
  std::vector<std::string> left_out;
  BrokerConfig config = with_dynamic(loaded(), {{"principal.builder.class", "x"}, {"log.roll.ms", "5"}},
                                     {{"log.retention.ms", "soon"}, {"num.partitions", "3"},
                                      {"log.flush.interval.messages", "4"}},
                                     &left_out);
  EXPECT_EQ(config.num_partitions, 1);
  EXPECT_EQ(config.log_defaults.segment_ms, 5);
  EXPECT_EQ(config.log_defaults.flush_messages, 4);
  EXPECT_EQ(config.layers.dynamic_default.size(), 1u);
  EXPECT_EQ(config.layers.dynamic_broker.size(), 1u);
  EXPECT_EQ(left_out, (std::vector<std::string>{
                          "dynamic configuration: principal.builder.class can only be changed for one "
                          "broker, not for all",
                          "dynamic configuration: log.retention.ms=soon: not a whole number",
                          "dynamic configuration: num.partitions cannot be changed while the broker runs"}));
}

TEST(DynamicConfig, NobodyIsLockedOut) {
  BrokerConfig files = loaded();
  EXPECT_EQ(error_of(files, {{"max.connections", "0"}}), "max.connections=0 would let nobody in");
  EXPECT_EQ(error_of(files, {{"max.connection.creation.rate", "0"}}),
            "max.connection.creation.rate=0 would let nobody in");
  std::vector<std::string> left_out;
  BrokerConfig config = with_dynamic(files, {{"max.connections", "0"}}, {}, &left_out);
  EXPECT_EQ(config.connection_limits, files.connection_limits);
  EXPECT_EQ(left_out, (std::vector<std::string>{"dynamic configuration: max.connections=0 would let nobody in"}));
}

TEST(DynamicConfig, LimitsOfConnections) {
  BrokerConfig files = loaded("listeners=PLAINTEXT://:9092,SECOND://:9093\n"
                              "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT\n"
                              "max.connections=9\nlistener.name.second.max.connections=3");
  ConnectionLimitsConfig limits = files.connection_limits;
  EXPECT_EQ(limits.all.max_connections, 9);
  EXPECT_EQ(limits.of_listeners.at("SECOND").max_connections, 3);
  EXPECT_EQ(limits.of_listeners.at("SECOND").creation_rate, INT32_MAX);
  EXPECT_FALSE(limits.of_listeners.contains("PLAINTEXT"));
  limits = with_dynamic(files, {{"max.connections.per.ip", "5"}, {"max.connection.creation.rate", "7"}},
                        {{"listener.name.second.max.connections", "4"},
                         {"max.connections.per.ip.overrides", "127.0.0.2:1, [::1]:2,localhost:8"}})
               .connection_limits;
  EXPECT_EQ(limits.max_per_address, 5);
  EXPECT_EQ(limits.of_listeners.at("SECOND"), (ListenerLimits{.max_connections = 4, .creation_rate = 7}));
  EXPECT_EQ(limits.of_addresses, (AddressLimits{{"127.0.0.1", 8}, {"127.0.0.2", 1}, {"::1", 2}}));
  EXPECT_EQ(with_dynamic(files, {}, {}).connection_limits, files.connection_limits);
  EXPECT_EQ(error_of(files, {{"max.connections.per.ip.overrides", "host.example:1"}}),
            "max.connections.per.ip.overrides: host.example is no address, and names are looked up only when the "
            "broker starts");
  EXPECT_EQ(error_of(files, {{"max.connections.per.ip.overrides", "127.0.0.1"}}),
            "max.connections.per.ip.overrides: \"127.0.0.1\" is not address:count");
  EXPECT_EQ(error_of(files, {{"listener.name.second.max.connections", "0"}}),
            "listener.name.second.max.connections=0 would let nobody in");
  EXPECT_EQ(error_of(files, {{"listener.name.second.max.connections", "1"}}), "");
  EXPECT_EQ(error_of(files, {{"listener.name.second.max.connections", "1"}}, false),
            "listener.name.second.max.connections can only be changed for one broker, not for all");
}

TEST(DynamicConfig, AddressesAsSocketsShowThem) {
  EXPECT_EQ(parse_address_limits("0:0::1:5,::ffff:10.0.0.1:6,a-host.example:0"),
            (AddressLimits{{"10.0.0.1", 6}, {"::1", 5}, {"a-host.example", 0}}));
  EXPECT_EQ(plain_address("::ffff:127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(plain_address("::ffff:1"), "::ffff:1");
  for (std::string_view bad : {"1.2.3.4", "1.2.3.4:", ":5", "1.2.3.4:-1", "1.2.3.4:x", "1.2.3.4:99999999999", "a b:1",
                               "1.2.3.4:1,"})
    EXPECT_FALSE(parse_address_limits(bad)) << bad;
}

TEST(DynamicConfig, ChecksAChange) {
  BrokerConfig now = loaded("log.cleaner.threads=1");
  EXPECT_EQ(error_of(now, {{"log.retention.ms", "1"}, {"num.io.threads", "100"}}), "");
  EXPECT_EQ(error_of(now, {{"num.partitions", "1"}}),
            "num.partitions cannot be changed while the broker runs");
  EXPECT_EQ(error_of(now, {{"log.retention.ms", "0"}}),
            "log.retention.ms=0: must be -1 (no limit) or at least 1");
  EXPECT_EQ(error_of(now, {{"log.retenton.ms", "1"}}),
            "unknown key log.retenton.ms; did you mean log.retention.ms?");
  EXPECT_EQ(error_of(now, {{"my.reporter.url", "x"}}), "");
  EXPECT_EQ(error_of(now, {{"ssl.keystore.location", "/x"}}),
            "ssl.keystore.location can only be changed for one listener: "
            "listener.name.<listener>.ssl.keystore.location");
  EXPECT_EQ(error_of(now, {{"listener.name.a.ssl.keystore.location", "/x"}}), "");
  EXPECT_EQ(error_of(now, {{"listener.name.a.ssl.keystore.location", "/x"}}, false),
            "listener.name.a.ssl.keystore.location can only be changed for one broker, not for all");
  EXPECT_EQ(error_of(now, {{"log.cleaner.threads", "500"}}, false),
            "log.cleaner.dedupe.buffer.size=134217728 must be more than 1 MiB for each of "
            "log.cleaner.threads=500");
  // This broker's own value is stronger than the one that is checked.
  EXPECT_EQ(error_of(with_dynamic(now, {}, {{"log.cleaner.threads", "2"}}),
                     {{"log.cleaner.threads", "500"}}, false),
            "");
}

std::string group_error(const ConfigTexts& config) {
  auto checked = check_group_config(loaded(), config);
  return checked ? "" : checked.error();
}

TEST(GroupConfig, IsHeldAgainstTheBrokersBounds) {
  EXPECT_EQ(group_error({{"consumer.session.timeout.ms", "45000"}, {"share.auto.offset.reset", "earliest"}}),
            "");
  EXPECT_EQ(group_error({{"consumer.session.timeout.ms", "44999"}}),
            "consumer.session.timeout.ms=44999: must be at least "
            "group.consumer.min.session.timeout.ms=45000");
  EXPECT_EQ(group_error({{"streams.num.standby.replicas", "3"}}),
            "streams.num.standby.replicas=3: must be at most group.streams.max.standby.replicas=2");
  EXPECT_EQ(group_error({{"streams.assignor.name", "x"}}),
            "streams.assignor.name=x: must be one of group.streams.assignors: sticky");
  EXPECT_EQ(group_error({{"errors.deadletterqueue.topic.name", "__x"}}),
            "errors.deadletterqueue.topic.name=__x: must not begin with __");
  EXPECT_EQ(group_error({{"no.such", "1"}}), "unknown group configuration: no.such");
  BrokerConfig wide = loaded("group.consumer.max.heartbeat.interval.ms=50000");
  auto checked = check_group_config(wide, {{"consumer.heartbeat.interval.ms", "45000"}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error(),
            "consumer.heartbeat.interval.ms=45000 must be below consumer.session.timeout.ms=45000");
}

TEST(ClientMetrics, SubscriptionsAreChecked) {
  using proto::ErrorCode;
  auto error = [](const char* key, const char* value) { return check_client_metrics({{key, value}}).error; };
  EXPECT_EQ(error("interval.ms", "100"), ErrorCode::kNone);
  EXPECT_EQ(error("interval.ms", "99"), ErrorCode::kInvalidRequest);
  EXPECT_EQ(error("interval.ms", "x"), ErrorCode::kInvalidConfig);
  EXPECT_EQ(error("no.such", "x"), ErrorCode::kInvalidRequest);
  for (const char* match : {"", "client_id=a.*", "client_id=[a-z]+,client_source_port=(1|2)\\d*",
                            "client_software_name=[]a]"}) {
    EXPECT_EQ(error("match", match), ErrorCode::kNone) << match;
  }
  for (const char* match : {"client_id", "id=a", "client_id=[a", "client_id=(a", "client_id=a)",
                            "client_id=*", "client_id=a\\"}) {
    EXPECT_EQ(error("match", match), ErrorCode::kInvalidConfig) << match;
  }
}

}  // namespace
}  // namespace pelton::broker
