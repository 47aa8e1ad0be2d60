// Broker keys: logs and topics.
#include "broker/config/key_tables.h"
#include "broker/config/topic_keys.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr int64_t kMinute = 60'000, kHour = 3'600'000;

void cleanup_policy(BrokerConfig& config, const ConfigValue& value) {
  config.log_defaults.delete_policy = std::ranges::count(value.list, "delete") > 0;
  config.log_defaults.compact_policy = std::ranges::count(value.list, "compact") > 0;
}
void timestamp_type(BrokerConfig& config, const ConfigValue& value) {
  config.log_defaults.log_append_time = value.text == "LogAppendTime";
}
void compression_type(BrokerConfig& config, const ConfigValue& value) {
  set_compression_type(config.log_defaults, value);
}

constexpr BrokerKey kKeys[] = {
    acts("auto.create.topics.enable", any(kBoolean), "true", kHigh, kReadOnly,
         "A topic that a client asks for by name is created.",
         flag<&B::auto_create_topics>),
    acts("compression.gzip.level", checked(kInt, kGzipLevelForm, check_gzip_level), "-1", kMedium,
         kClusterWide, "Default of the topic key of this name.",
         log_number<&LogConfig::compression_gzip_level>),
    acts("compression.lz4.level", between(kInt, 1, 17), "9", kMedium, kClusterWide,
         "Default of the topic key of this name.",
         log_number<&LogConfig::compression_lz4_level>),
    acts("compression.type", one_of(kString, "uncompressed,zstd,lz4,snappy,gzip,producer"), "producer",
         kHigh, kClusterWide, "Default of the topic key of this name.", compression_type),
    acts("compression.zstd.level", between(kInt, -131'072, 22), "3", kMedium, kClusterWide,
         "Default of the topic key of this name.",
         log_number<&LogConfig::compression_zstd_level>),
    idle(kOther, "cordoned.log.dirs", any(kList), "", kMedium, kPerBroker),
    idle(kPlugins, "create.topic.policy.class.name", any(kClass), kNull, kLow, kReadOnly),
    acts("delete.topic.enable", any(kBoolean), "true", kHigh, kReadOnly, "Topics can be deleted.",
         flag<&B::delete_topic_enable>),
    idle(kCompaction, "log.cleaner.backoff.ms", at_least(kLong, 0), "15000", kMedium, kClusterWide),
    idle(kCompaction, "log.cleaner.dedupe.buffer.size", any(kLong), "134217728", kMedium, kClusterWide),
    idle(kCompaction, "log.cleaner.delete.retention.ms", at_least(kLong, 0), "86400000", kMedium,
         kClusterWide),
    idle(kCompaction, "log.cleaner.enable", any(kBoolean), "true", kMedium, kReadOnly),
    idle(kCompaction, "log.cleaner.io.buffer.load.factor", any(kDouble), "0.9", kMedium, kClusterWide),
    idle(kCompaction, "log.cleaner.io.buffer.size", at_least(kInt, 0), "524288", kMedium, kClusterWide),
    idle(kCompaction, "log.cleaner.io.max.bytes.per.second", any(kDouble), "1.7976931348623157E308", kMedium,
         kClusterWide),
    idle(kCompaction, "log.cleaner.max.compaction.lag.ms", at_least(kLong, 1), kForever, kMedium,
         kClusterWide),
    idle(kCompaction, "log.cleaner.min.cleanable.ratio", between(kDouble, 0, 1), "0.5", kMedium,
         kClusterWide),
    idle(kCompaction, "log.cleaner.min.compaction.lag.ms", at_least(kLong, 0), "0", kMedium, kClusterWide),
    idle(kThreads, "log.cleaner.threads", at_least(kInt, 0), "1", kMedium, kClusterWide),
    acts("log.cleanup.policy", one_of(kList, "compact,delete"), "delete", kMedium, kClusterWide,
         "Default of the topic key cleanup.policy.",
         cleanup_policy),
    acts("log.dir", not_empty(kList), "pelton-data", kHigh, kReadOnly, "The data directory."),
    idle(kOther, "log.dir.failure.timeout.ms", at_least(kLong, 1), "30000", kLow, kReadOnly),
    acts("log.dirs", not_empty(kList), kNull, kHigh, kReadOnly, "The data directory; wins over log.dir."),
    acts("log.flush.interval.messages", at_least(kLong, 1), "1", kHigh, kClusterWide,
         "Default of the topic key flush.messages. 1 (Apache Kafka's default is 9223372036854775807): a "
         "record is acknowledged when it is on stable storage.",
         log_number<&LogConfig::flush_messages>),
    acts("log.flush.interval.ms", any(kLong), kNull, kHigh, kClusterWide,
         "Longest time that a record stays unsynced.",
         log_number<&LogConfig::flush_ms>),
    acts("log.flush.offset.checkpoint.interval.ms", at_least(kInt, 0), "60000", kHigh, kReadOnly,
         "Time between two writings of the recovery points.",
         number<&B::flush_offset_checkpoint_interval_ms>),
    acts("log.flush.scheduler.interval.ms", any(kLong), kForever, kHigh, kReadOnly,
         "Longest time that a record stays unsynced, when log.flush.interval.ms is not set.",
         log_number<&LogConfig::flush_ms>),
    idle(kOther, "log.flush.start.offset.checkpoint.interval.ms", at_least(kInt, 0), "60000", kHigh,
         kReadOnly),
    acts("log.index.interval.bytes", at_least(kInt, 0), "4096", kMedium, kClusterWide,
         "Default of the topic key index.interval.bytes.",
         log_number<&LogConfig::index_interval_bytes>),
    acts("log.index.size.max.bytes", at_least(kInt, 4), "10485760", kMedium, kClusterWide,
         "Default of the topic key segment.index.bytes.",
         log_number<&LogConfig::segment_index_bytes>),
    internal(idle(kOther, "log.initial.task.delay.ms", at_least(kLong, 0), "30000", kLow, kReadOnly)),
    acts("log.message.timestamp.after.max.ms", at_least(kLong, 0), "3600000", kMedium, kClusterWide,
         "Default of the topic key message.timestamp.after.max.ms.",
         log_number<&LogConfig::timestamp_after_max_ms>),
    acts("log.message.timestamp.before.max.ms", at_least(kLong, 0), kForever, kMedium, kClusterWide,
         "Default of the topic key message.timestamp.before.max.ms.",
         log_number<&LogConfig::timestamp_before_max_ms>),
    acts("log.message.timestamp.type", one_of(kString, "CreateTime,LogAppendTime"), "CreateTime", kMedium,
         kClusterWide, "Default of the topic key message.timestamp.type.", timestamp_type),
    idle(kOther, "log.preallocate", any(kBoolean), "false", kMedium, kClusterWide),
    acts("log.retention.bytes", any(kLong), "-1", kHigh, kClusterWide,
         "Default of the topic key retention.bytes.",
         log_number<&LogConfig::retention_bytes>),
    acts("log.retention.check.interval.ms", at_least(kLong, 1), "300000", kMedium, kReadOnly,
         "Time between two looks for segments past the retention limits.",
         number<&B::log_retention_check_interval_ms>),
    acts("log.retention.hours", any(kInt), "168", kHigh, kReadOnly,
         "Age at which segments are deleted, in hours.",
         log_time<&LogConfig::retention_ms, kHour>),
    acts("log.retention.minutes", any(kInt), kNull, kHigh, kReadOnly,
         "Age at which segments are deleted, in minutes; wins over hours.",
         log_time<&LogConfig::retention_ms, kMinute>),
    acts("log.retention.ms", any(kLong), kNull, kHigh, kClusterWide,
         "Age at which segments are deleted, in milliseconds; wins over minutes and hours.",
         log_time<&LogConfig::retention_ms, 1>),
    acts("log.roll.hours", at_least(kInt, 1), "168", kHigh, kReadOnly,
         "Age at which a new segment is begun, in hours.",
         log_time<&LogConfig::segment_ms, kHour>),
    acts("log.roll.jitter.hours", at_least(kInt, 0), "0", kHigh, kReadOnly,
         "Largest random time by which a segment is ended early, in hours.",
         log_time<&LogConfig::segment_jitter_ms, kHour>),
    acts("log.roll.jitter.ms", any(kLong), kNull, kHigh, kClusterWide,
         "Largest random time by which a segment is ended early, in milliseconds; wins over hours.",
         log_number<&LogConfig::segment_jitter_ms>),
    acts("log.roll.ms", any(kLong), kNull, kHigh, kClusterWide,
         "Age at which a new segment is begun, in milliseconds; wins over hours.",
         log_number<&LogConfig::segment_ms>),
    acts("log.segment.bytes", at_least(kInt, 1'048'576), "1073741824", kHigh, kClusterWide,
         "Default of the topic key segment.bytes.",
         log_number<&LogConfig::segment_bytes>),
    acts("log.segment.delete.delay.ms", at_least(kLong, 0), "60000", kHigh, kClusterWide,
         "Default of the topic key file.delete.delay.ms.",
         log_number<&LogConfig::file_delete_delay_ms>),
    acts("max.decompressed.message.bytes", between(kInt, 1, 2'147'483'639), "2147483639", kMedium,
         kClusterWide, "Default of the topic key of this name.",
         log_number<&LogConfig::max_decompressed_message_bytes>),
    acts("message.max.bytes", at_least(kInt, 0), "1048588", kHigh, kClusterWide,
         "Default of the topic key max.message.bytes.",
         log_number<&LogConfig::max_message_bytes>),
    acts("num.partitions", at_least(kInt, 1), "1", kMedium, kReadOnly, "Partitions of a new topic.",
         number<&B::num_partitions>),
    idle(kThreads, "num.recovery.threads.per.data.dir", at_least(kInt, 1), "2", kHigh, kClusterWide),
};

}  // namespace

std::span<const BrokerKey> log_key_table() { return kKeys; }

}  // namespace pelton::broker
