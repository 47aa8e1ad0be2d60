#include "broker/config/topic_keys.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "broker/config/keys.h"

namespace pelton::broker {
namespace {

using namespace key_words;
using storage::LogConfig;

template <auto Member>
void set_number(LogConfig& config, const ConfigValue& value) {
  using Number = std::remove_reference_t<decltype(config.*Member)>;
  config.*Member = static_cast<Number>(value.number);
}

template <auto Member>
std::string get_number(const LogConfig& config) {
  return std::to_string(config.*Member);
}

void set_cleanup_policy(LogConfig& config, const ConfigValue& value) {
  config.delete_policy = std::ranges::count(value.list, "delete") > 0;
  config.compact_policy = std::ranges::count(value.list, "compact") > 0;
}

std::string get_cleanup_policy(const LogConfig& config) {
  if (config.compact_policy && config.delete_policy) return "compact,delete";
  return config.compact_policy ? "compact" : config.delete_policy ? "delete" : "";
}

void set_timestamp_type(LogConfig& config, const ConfigValue& value) {
  config.log_append_time = value.text == "LogAppendTime";
}

std::string get_timestamp_type(const LogConfig& config) {
  return config.log_append_time ? "LogAppendTime" : "CreateTime";
}

constexpr std::pair<std::string_view, std::optional<proto::Codec>> kCompressionTypes[] = {
    {"producer", std::nullopt},          {"uncompressed", proto::Codec::kNone},
    {"gzip", proto::Codec::kGzip},       {"snappy", proto::Codec::kSnappy},
    {"lz4", proto::Codec::kLz4},         {"zstd", proto::Codec::kZstd},
};

std::string get_compression_type(const LogConfig& config) {
  auto found = std::ranges::find(kCompressionTypes, config.compression,
                                 [](const auto& row) { return row.second; });
  return std::string(found->first);
}

using Default = std::optional<std::string_view>;

template <auto Member>
constexpr TopicKey number(std::string_view name, ValueRule rule, Default default_value,
                          std::string_view synonyms, std::string_view documentation) {
  return {{name, rule, default_value, kMedium, kActs, false, documentation},
          synonyms, set_number<Member>, get_number<Member>};
}

constexpr TopicKey stored(KeyUse use, std::string_view name, ValueRule rule, Default default_value,
                          std::string_view synonyms = {}) {
  return {{name, rule, default_value, kMedium, use, false, {}}, synonyms, nullptr, nullptr};
}

constexpr TopicKey internal(TopicKey key) {
  key.internal = true;
  return key;
}

constexpr std::string_view kCodecs = "uncompressed,zstd,lz4,snappy,gzip,producer";

constexpr TopicKey kTopicKeys[] = {
    {{"cleanup.policy", one_of(kList, "compact,delete"), "delete", kMedium, kActs, false,
      "What happens to old records: delete removes segments past the retention limits, compact keeps "
      "the newest record of each key (it is not compacted yet)."},
     "log.cleanup.policy", set_cleanup_policy, get_cleanup_policy},
    number<&LogConfig::compression_gzip_level>(
        "compression.gzip.level", checked(kInt, kGzipLevelForm, check_gzip_level), "-1", "compression.gzip.level",
        "Effort of gzip when compression.type is gzip; -1 = the library's own."),
    number<&LogConfig::compression_lz4_level>("compression.lz4.level", between(kInt, 1, 17), "9",
                                              "compression.lz4.level",
                                              "Effort of lz4 when compression.type is lz4."),
    {{"compression.type", one_of(kString, kCodecs), "producer", kMedium, kActs, false,
      "How the log holds record batches: producer = as they came, else with this codec."},
     "compression.type", set_compression_type, get_compression_type},
    number<&LogConfig::compression_zstd_level>("compression.zstd.level", between(kInt, -131072, 22), "3",
                                               "compression.zstd.level",
                                               "Effort of zstd when compression.type is zstd."),
    stored(kCompaction, "delete.retention.ms", at_least(kLong, 0), "86400000", "log.cleaner.delete.retention.ms"),
    stored(kNewGroups, "errors.deadletterqueue.group.enable", any(kBoolean), "false"),
    number<&LogConfig::file_delete_delay_ms>(
        "file.delete.delay.ms", at_least(kLong, 0), "60000", "log.segment.delete.delay.ms",
        "Time between taking a file out of the log and removing it from the disk."),
    number<&LogConfig::flush_messages>(
        "flush.messages", at_least(kLong, 1), "1", "log.flush.interval.messages",
        "1: a record is acknowledged (acks=all) and becomes visible when it is on stable storage. "
        "Larger: after so many records the log is synced; acknowledgements do not wait for it."),
    number<&LogConfig::flush_ms>(
        "flush.ms", at_least(kLong, 0), kForever,
        "log.flush.interval.ms,log.flush.scheduler.interval.ms",
        "Longest time that a record stays unsynced."),
    stored(kReplication, "follower.replication.throttled.replicas",
           checked(kList, kThrottledForm, check_throttled), ""),
    number<&LogConfig::index_interval_bytes>(
        "index.interval.bytes", at_least(kInt, 0), "4096", "log.index.interval.bytes",
        "Bytes of log between two entries of the offset index."),
    internal(number<&LogConfig::segment_bytes>("internal.segment.bytes", at_least(kInt, 1), kNull, "",
                                               "segment.bytes without its lower bound, for tests.")),
    stored(kReplication, "leader.replication.throttled.replicas",
           checked(kList, kThrottledForm, check_throttled), ""),
    stored(kRemote, "local.retention.bytes", at_least(kLong, -2), "-2", "log.local.retention.bytes"),
    stored(kRemote, "local.retention.ms", at_least(kLong, -2), "-2", "log.local.retention.ms"),
    stored(kCompaction, "max.compaction.lag.ms", at_least(kLong, 1), kForever, "log.cleaner.max.compaction.lag.ms"),
    number<&LogConfig::max_decompressed_message_bytes>(
        "max.decompressed.message.bytes", between(kInt, 1, 2147483639), "2147483639",
        "max.decompressed.message.bytes",
        "Largest size of a batch's records after decompression, where the broker has to look inside."),
    number<&LogConfig::max_message_bytes>("max.message.bytes", at_least(kInt, 0), "1048588",
                                          "message.max.bytes",
                                          "Largest record batch that is taken, after compression."),
    number<&LogConfig::timestamp_after_max_ms>(
        "message.timestamp.after.max.ms", at_least(kLong, 0), "3600000",
        "log.message.timestamp.after.max.ms",
        "How far a record's time may lie after the broker's clock (CreateTime only)."),
    number<&LogConfig::timestamp_before_max_ms>(
        "message.timestamp.before.max.ms", at_least(kLong, 0), kForever,
        "log.message.timestamp.before.max.ms",
        "How far a record's time may lie before the broker's clock (CreateTime only)."),
    {{"message.timestamp.type", one_of(kString, "CreateTime,LogAppendTime"), "CreateTime", kMedium, kActs,
      false,
      "Whose clock a record's timestamp shows: the producer's (CreateTime) or the broker's at the time "
      "of the append (LogAppendTime)."},
     "log.message.timestamp.type", set_timestamp_type, get_timestamp_type},
    stored(kCompaction, "min.cleanable.dirty.ratio", between(kDouble, 0, 1), "0.5",
           "log.cleaner.min.cleanable.ratio"),
    stored(kCompaction, "min.compaction.lag.ms", at_least(kLong, 0), "0", "log.cleaner.min.compaction.lag.ms"),
    stored(kReplication, "min.insync.replicas", at_least(kInt, 1), "1", "min.insync.replicas"),
    stored(kOther, "preallocate", any(kBoolean), "false", "log.preallocate"),
    stored(kRemote, "remote.copy.lag.bytes", at_least(kLong, -1), "-1", "log.remote.copy.lag.bytes"),
    stored(kRemote, "remote.copy.lag.ms", at_least(kLong, -1), "0", "log.remote.copy.lag.ms"),
    stored(kRemote, "remote.log.copy.disable", any(kBoolean), "false"),
    stored(kRemote, "remote.log.delete.on.disable", any(kBoolean), "false"),
    stored(kRemote, "remote.storage.enable", any(kBoolean), "false"),
    number<&LogConfig::retention_bytes>(
        "retention.bytes", any(kLong), "-1", "log.retention.bytes",
        "Size of a partition above which its oldest segments are deleted; -1 = no limit."),
    number<&LogConfig::retention_ms>(
        "retention.ms", at_least(kLong, -1), "604800000",
        "log.retention.ms,log.retention.minutes,log.retention.hours",
        "Age above which a segment is deleted; -1 = no limit."),
    number<&LogConfig::segment_bytes>("segment.bytes", at_least(kInt, 1 << 20), "1073741824",
                                      "log.segment.bytes",
                                      "Size at which a new segment file is begun."),
    number<&LogConfig::segment_index_bytes>("segment.index.bytes", at_least(kInt, 4), "10485760",
                                            "log.index.size.max.bytes",
                                            "Size of an index file at which a new segment is begun."),
    number<&LogConfig::segment_jitter_ms>(
        "segment.jitter.ms", at_least(kLong, 0), "0", "log.roll.jitter.ms,log.roll.jitter.hours",
        "Largest random time by which a segment is ended before segment.ms."),
    number<&LogConfig::segment_ms>("segment.ms", at_least(kLong, 1), "604800000",
                                   "log.roll.ms,log.roll.hours",
                                   "Age at which a new segment is begun even if the old is not full."),
    stored(kReplication, "unclean.leader.election.enable", any(kBoolean), "false",
           "unclean.leader.election.enable"),
};

// Rules that hold between keys or cannot be written in the table.
Result<void, std::string> check_together(const std::map<std::string_view, ConfigValue>& values) {
  auto number = [&](std::string_view key, int64_t otherwise) {
    auto found = values.find(key);
    return found == values.end() ? otherwise : found->second.number;
  };
  auto flag = [&](std::string_view key) {
    auto found = values.find(key);
    return found != values.end() && found->second.flag;
  };
  if (number("min.compaction.lag.ms", 0) >
      number("max.compaction.lag.ms", std::numeric_limits<int64_t>::max())) {
    return std::unexpected("min.compaction.lag.ms must not be above max.compaction.lag.ms");
  }
  if (flag("remote.storage.enable")) {
    return std::unexpected("remote.storage.enable=true: this broker has no remote storage");
  }
  return {};
}

std::string unknown_key(std::string_view name) {
  std::vector<std::string_view> known;
  for (const TopicKey& key : kTopicKeys) known.push_back(key.name);
  std::string_view near = suggest_key(name, known);
  if (near.empty()) return fmt::format("unknown topic configuration: {}", name);
  return fmt::format("unknown topic configuration: {}; did you mean {}?", name, near);
}

}  // namespace

void set_compression_type(LogConfig& config, const ConfigValue& value) {
  auto found = std::ranges::find(kCompressionTypes, std::string_view(value.text),
                                 [](const auto& row) { return row.first; });
  if (found != std::end(kCompressionTypes)) config.compression = found->second;
}

std::span<const TopicKey> topic_keys() { return kTopicKeys; }

const TopicKey* find_topic_key(std::string_view name) {
  auto found = std::ranges::lower_bound(kTopicKeys, name, {}, &TopicKey::name);
  return found != std::end(kTopicKeys) && found->name == name ? found : nullptr;
}

Result<void, std::string> check_topic_overrides(const TopicOverrides& overrides) {
  std::map<std::string_view, ConfigValue> values;
  for (const auto& [name, text] : overrides) {
    const TopicKey* key = find_topic_key(name);
    if (key == nullptr) return std::unexpected(unknown_key(name));
    auto value = parse_value(key->rule, text);
    if (!value) return std::unexpected(fmt::format("{}={}: {}", name, text, value.error()));
    values.emplace(key->name, std::move(*value));
  }
  return check_together(values);
}

LogConfig topic_log_config(const LogConfig& defaults, const TopicOverrides& overrides) {
  LogConfig config = defaults;
  for (const auto& [name, text] : overrides) {
    const TopicKey* key = find_topic_key(name);
    if (key == nullptr || !key->acts()) continue;
    if (auto value = parse_value(key->rule, text)) key->set(config, *value);
  }
  return config;
}

}  // namespace pelton::broker
