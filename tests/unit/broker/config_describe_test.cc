#include "broker/config/describe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "broker/config/dynamic_config.h"
#include "broker/config/keys.h"
#include "broker/config/load_config.h"

namespace pelton::broker {
namespace {

BrokerConfig loaded(std::string text) {
  std::vector<std::string> notices;
  auto config = load_config({.file_name = "f", .file_text = std::move(text), .environment = {}, .overrides = {}},
                            notices);
  if (config) return *config;
  ADD_FAILURE() << config.error().front();
  return {};
}

const DescribedConfig& find(const DescribedConfigs& configs, std::string_view name) {
  static const DescribedConfig kNone;
  auto found = std::ranges::find(configs, name, &DescribedConfig::name);
  if (found != configs.end()) return *found;
  ADD_FAILURE() << "no " << name;
  return kNone;
}

bool has(const DescribedConfigs& configs, std::string_view name) {
  return std::ranges::find(configs, name, &DescribedConfig::name) != configs.end();
}

// "name=value:source ..." of the synonyms.
std::string synonyms(const DescribedConfig& config) {
  std::string text;
  for (const ConfigSynonym& synonym : config.synonyms) {
    text += std::string(text.empty() ? "" : " ") + std::string(synonym.name) + "=" +
            synonym.value.value_or("(none)") + ":" + std::to_string(static_cast<int>(synonym.source));
  }
  return text;
}

TEST(Describe, SynonymsStandInTheOrderOfTheirStrength) {
  BrokerConfig config = with_dynamic(loaded("log.segment.bytes=4000000"),
                                     {{"log.segment.bytes", "3000000"}}, {{"log.segment.bytes", "2000000"}});
  const auto segment = find(describe_topic(config, {{"segment.bytes", " +1500000"}}), "segment.bytes");
  EXPECT_EQ(segment.value, "1500000");
  EXPECT_EQ(segment.source, ConfigSource::kTopic);
  EXPECT_EQ(synonyms(segment),
            "segment.bytes=1500000:1 log.segment.bytes=2000000:2 log.segment.bytes=3000000:3 "
            "log.segment.bytes=4000000:4 log.segment.bytes=1073741824:5");
  const auto of_broker = find(describe_broker(config), "log.segment.bytes");
  EXPECT_EQ(of_broker.value, "2000000");
  EXPECT_EQ(of_broker.source, ConfigSource::kDynamicBroker);
  EXPECT_FALSE(of_broker.read_only);
  const auto defaults = describe_broker_defaults(config);
  ASSERT_EQ(defaults.size(), 1u);
  EXPECT_EQ(defaults[0].value, "3000000");
  EXPECT_EQ(synonyms(defaults[0]), "log.segment.bytes=3000000:3");
}

TEST(Describe, SpellingsOfOneSetting) {
  BrokerConfig config = loaded("log.retention.hours=2");
  auto retention = find(describe_topic(config, {}), "retention.ms");
  EXPECT_EQ(retention.value, "7200000");
  // As Apache Kafka: what does not begin with the key's own name is not told, nor its source.
  EXPECT_EQ(retention.source, ConfigSource::kDefault);
  EXPECT_EQ(synonyms(retention), "");
  EXPECT_FALSE(find(describe_broker(config), "log.retention.ms").value.has_value());
  EXPECT_EQ(synonyms(find(describe_broker(config), "log.retention.hours")),
            "log.retention.hours=2:4 log.retention.hours=168:5");
  config = with_dynamic(config, {}, {{"log.retention.ms", "5"}});
  retention = find(describe_topic(config, {}), "retention.ms");
  EXPECT_EQ(retention.value, "5");
  EXPECT_EQ(synonyms(retention), "log.retention.ms=5:2 log.retention.hours=2:4 log.retention.hours=168:5");
}

TEST(Describe, EveryKeyOfTheBrokerIsThere) {
  BrokerConfig config = loaded("my.own=secret\nssl.key.password=p\nbroker.rack=r");
  DescribedConfigs configs = describe_broker(config);
  for (const BrokerKey* key : broker_keys()) {
    EXPECT_EQ(has(configs, key->name), !key->internal) << key->name;
  }
  for (const DescribedConfig& described : configs) {
    EXPECT_TRUE(described.name == "my.own" || described.documentation.has_value()) << described.name;
  }
  EXPECT_EQ(find(configs, "broker.rack").value, "r");
  EXPECT_TRUE(find(configs, "broker.rack").read_only);
  EXPECT_FALSE(find(configs, "broker.rack").sensitive);
  for (const char* name : {"ssl.key.password", "my.own"}) {
    const auto secret = find(configs, name);
    EXPECT_TRUE(secret.sensitive) << name;
    EXPECT_FALSE(secret.value.has_value()) << name;
    EXPECT_EQ(secret.source, ConfigSource::kStaticBroker) << name;
    EXPECT_EQ(synonyms(secret), std::string(name) + "=(none):4");
  }
  EXPECT_EQ(find(configs, "node.id").value, "1");
}

TEST(Describe, KeysOfOneListener) {
  BrokerConfig config = with_dynamic(loaded("ssl.keystore.type=PEM"), {},
                                     {{"listener.name.out.ssl.keystore.type", "JKS"}});
  const auto type = find(describe_broker(config), "listener.name.out.ssl.keystore.type");
  EXPECT_EQ(type.value, "JKS");
  EXPECT_TRUE(type.read_only);  // as Apache Kafka tells it, though it can be changed
  EXPECT_EQ(synonyms(type), "listener.name.out.ssl.keystore.type=JKS:2 ssl.keystore.type=PEM:4 "
                            "ssl.keystore.type=JKS:5");
}

TEST(Describe, KeysOfATopicThatDoNothingHaveTheBrokersValue) {
  BrokerConfig config = loaded("log.cleaner.delete.retention.ms=7");
  DescribedConfigs configs = describe_topic(config, {});
  EXPECT_EQ(find(configs, "delete.retention.ms").value, "7");
  EXPECT_EQ(find(configs, "delete.retention.ms").source, ConfigSource::kStaticBroker);
  EXPECT_EQ(find(configs, "remote.storage.enable").value, "false");
  EXPECT_FALSE(has(configs, "internal.segment.bytes"));
  EXPECT_TRUE(has(describe_topic(config, {{"internal.segment.bytes", "9"}}), "internal.segment.bytes"));
}

TEST(Describe, ACreatedTopicIsToldAsItWasAskedFor) {
  BrokerConfig config = loaded("log.retention.hours=2");
  DescribedConfigs configs = describe_created_topic(config, {{"preallocate", " TRUE "}});
  EXPECT_EQ(find(configs, "preallocate").value, " TRUE ");
  EXPECT_EQ(find(configs, "preallocate").source, ConfigSource::kTopic);
  EXPECT_EQ(find(configs, "retention.ms").value, "7200000");
  EXPECT_EQ(find(configs, "retention.ms").source, ConfigSource::kStaticBroker);
  EXPECT_EQ(find(configs, "flush.ms").source, ConfigSource::kDefault);
}

TEST(Describe, Groups) {
  BrokerConfig config = loaded("group.consumer.max.session.timeout.ms=70000");
  DescribedConfigs configs = describe_group(config, {{"consumer.session.timeout.ms", "50000"}});
  EXPECT_EQ(find(configs, "consumer.session.timeout.ms").value, "50000");
  EXPECT_EQ(synonyms(find(configs, "consumer.session.timeout.ms")),
            "consumer.session.timeout.ms=50000:8 group.consumer.session.timeout.ms=45000:5");
  EXPECT_EQ(find(configs, "streams.assignor.name").value, "sticky");
  EXPECT_EQ(synonyms(find(configs, "share.isolation.level")), "share.isolation.level=read_uncommitted:5");
  EXPECT_FALSE(has(configs, "consumer.assignor.offload.enable"));
}

TEST(Describe, ClientMetrics) {
  DescribedConfigs configs = describe_client_metrics({{"metrics", "a,a, b"}});
  EXPECT_EQ(find(configs, "metrics").value, "a,b");
  EXPECT_EQ(find(configs, "metrics").source, ConfigSource::kClientMetrics);
  EXPECT_EQ(find(configs, "interval.ms").value, "300000");
  EXPECT_EQ(synonyms(find(configs, "interval.ms")), "");
}

TEST(Describe, OnlyWantedKeysAreDescribed) {
  BrokerConfig config = with_dynamic(loaded("my.plugin=1\nlog.retention.hours=5"), {{"log.cleaner.threads", "2"}},
                                     {{"other.plugin", "3"}});
  auto names = [](const DescribedConfigs& configs) {
    std::vector<std::string_view> all;
    for (const DescribedConfig& one : configs) all.push_back(one.name);
    return all;
  };
  using Names = std::vector<std::string_view>;
  const Names asked = {"other.plugin", "retention.ms", "node.id", "my.plugin", "node.id", "no.such", "metrics",
                       "log.cleaner.threads", "internal.segment.bytes", "consumer.session.timeout.ms"};
  const WantedKeys wanted(asked);
  EXPECT_EQ(names(describe_broker(config, wanted)),
            (Names{"log.cleaner.threads", "my.plugin", "node.id", "other.plugin"}));
  EXPECT_EQ(names(describe_broker_defaults(config, wanted)), Names{"log.cleaner.threads"});
  EXPECT_EQ(names(describe_topic(config, {}, wanted)), Names{"retention.ms"});
  EXPECT_EQ(names(describe_group(config, {}, wanted)), Names{"consumer.session.timeout.ms"});
  EXPECT_EQ(names(describe_client_metrics({}, wanted)), Names{"metrics"});
  EXPECT_EQ(find(describe_broker(config, wanted), "node.id").value, find(describe_broker(config), "node.id").value);
}

}  // namespace
}  // namespace pelton::broker
