#include "broker/config/topic_keys.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

std::string error_of(const TopicOverrides& overrides) {
  auto checked = check_topic_overrides(overrides);
  return checked ? "" : checked.error();
}

TEST(TopicKeys, TableIsSortedAndItsDefaultsAreSound) {
  EXPECT_TRUE(std::ranges::is_sorted(topic_keys(), {}, &TopicKey::name));
  for (const TopicKey& key : topic_keys()) {
    if (key.default_value) {
      EXPECT_TRUE(parse_value(key.rule, *key.default_value).has_value()) << key.name;
    }
    EXPECT_EQ(key.documentation.empty(), !key.acts()) << key.name;
    EXPECT_EQ(key.acts(), key.set != nullptr && key.get != nullptr) << key.name;
  }
}

TEST(TopicKeys, EverySynonymIsAKeyOfTheBroker) {
  for (const TopicKey& key : topic_keys()) {
    for (const std::string& name : split_list(key.synonyms)) {
      EXPECT_NE(find_broker_key(name), nullptr) << name;
    }
  }
}

TEST(TopicKeys, ChecksOverrides) {
  EXPECT_EQ(error_of({{"retention.ms", "-1"}, {"cleanup.policy", "compact,delete"}}), "");
  EXPECT_EQ(error_of({{"cleanup.policy", ""}}), "");
  EXPECT_EQ(error_of({{"retention.mss", "1"}}), "unknown topic configuration: retention.mss; did you mean retention.ms?");
  EXPECT_EQ(error_of({{"retention.ms", "abc"}}), "retention.ms=abc: not a whole number");
  EXPECT_EQ(error_of({{"retention.ms", "-2"}}), "retention.ms=-2: must be at least -1");
  EXPECT_EQ(error_of({{"segment.bytes", "1000"}}), "segment.bytes=1000: must be at least 1048576");
  EXPECT_EQ(error_of({{"min.cleanable.dirty.ratio", "1.5"}}),
            "min.cleanable.dirty.ratio=1.5: must be at most 1");
  EXPECT_EQ(error_of({{"min.cleanable.dirty.ratio", "x"}}), "min.cleanable.dirty.ratio=x: not a number");
  EXPECT_EQ(error_of({{"preallocate", "1"}}), "preallocate=1: must be true or false");
  EXPECT_EQ(error_of({{"compression.type", "brotli"}}),
            "compression.type=brotli: must be one of uncompressed, zstd, lz4, snappy, gzip, producer");
  EXPECT_EQ(error_of({{"min.compaction.lag.ms", "5"}, {"max.compaction.lag.ms", "4"}}),
            "min.compaction.lag.ms must not be above max.compaction.lag.ms");
  EXPECT_EQ(error_of({{"remote.storage.enable", "true"}}),
            "remote.storage.enable=true: this broker has no remote storage");
  EXPECT_EQ(error_of({{"compression.gzip.level", "0"}}),
            "compression.gzip.level=0: must be -1 or 1 to 9");
}

TEST(TopicKeys, OverridesGoOverTheBrokersDefaults) {
  storage::LogConfig defaults;
  defaults.retention_bytes = 77;
  storage::LogConfig config = topic_log_config(
      defaults, {{"retention.ms", "5"}, {"segment.bytes", "2097152"}, {"cleanup.policy", "compact"},
                 {"message.timestamp.type", "LogAppendTime"}, {"flush.messages", "10"},
                 {"segment.ms", "not a number"}, {"unknown", "1"}});
  EXPECT_EQ(config.retention_bytes, 77);
  EXPECT_EQ(config.retention_ms, 5);
  EXPECT_EQ(config.segment_bytes, 2'097'152);
  EXPECT_FALSE(config.delete_policy);
  EXPECT_TRUE(config.compact_policy);
  EXPECT_TRUE(config.log_append_time);
  EXPECT_EQ(config.flush_messages, 10);
  EXPECT_FALSE(config.synced());
  EXPECT_EQ(config.segment_ms, defaults.segment_ms);
}

}  // namespace
}  // namespace pelton::broker
