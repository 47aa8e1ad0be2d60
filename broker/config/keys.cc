#include "broker/config/keys.h"

#include <algorithm>
#include <array>

#include "broker/config/topic_keys.h"

namespace pelton::broker {
namespace {

using storage::LogConfig;
using enum ConfigType;

constexpr double kNoMin = std::numeric_limits<double>::lowest();
constexpr double kNoMax = std::numeric_limits<double>::max();

constexpr ValueRule any(ConfigType type) { return {type, kNoMin, kNoMax, {}}; }
constexpr ValueRule at_least(ConfigType type, double min) { return {type, min, kNoMax, {}}; }
constexpr ValueRule between(ConfigType type, double min, double max) { return {type, min, max, {}}; }
constexpr ValueRule one_of(ConfigType type, std::string_view allowed) {
  return {type, kNoMin, kNoMax, allowed};
}

// The member, clamped to what it holds (some of Kafka's LONG keys are 32 bits here).
template <auto Member>
void number(BrokerConfig& config, const ConfigValue& value) {
  using Number = std::remove_reference_t<decltype(config.*Member)>;
  config.*Member = static_cast<Number>(
      std::clamp<int64_t>(value.number, std::numeric_limits<Number>::min(),
                          static_cast<int64_t>(std::numeric_limits<Number>::max())));
}
template <auto Member>
void log_number(BrokerConfig& config, const ConfigValue& value) {
  using Number = std::remove_reference_t<decltype(config.log_defaults.*Member)>;
  config.log_defaults.*Member = static_cast<Number>(value.number);
}
template <auto Member>
void flag(BrokerConfig& config, const ConfigValue& value) {
  config.*Member = value.flag;
}
template <auto Member>
void text(BrokerConfig& config, const ConfigValue& value) {
  config.*Member = value.text;
}
// A time in larger units; -1 (no limit) stays.
template <auto Member, int64_t Milliseconds>
void log_time(BrokerConfig& config, const ConfigValue& value) {
  config.log_defaults.*Member = value.number < 0 ? -1 : value.number * Milliseconds;
}

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
void producer_id_expiration(BrokerConfig& config, const ConfigValue& value) {
  config.producer_id_expiration_ms = static_cast<int32_t>(value.number);
  config.log_defaults.producer_id_expiration_ms = value.number;
}

constexpr int64_t kMinute = 60'000, kHour = 3'600'000;
constexpr std::string_view kForever = "9223372036854775807";
using B = BrokerConfig;

constexpr BrokerKey kKeys[] = {
    // --- who and where ---
    {"broker.id", at_least(kInt, -1), "-1", "Older spelling of node.id."},
    {"node.id", at_least(kInt, 0), "1", "The broker's id in the cluster."},
    {"broker.rack", any(kString), "", "Rack of the broker, told to clients.", text<&B::rack>, true},
    {"listeners", any(kList), "PLAINTEXT://:9092",
     "Where clients connect: NAME://host:port, separated by commas; an empty host is every address."},
    {"advertised.listeners", any(kList), "",
     "Where clients are told to connect. Not set: the address that the client dialled.", nullptr, true},
    {"listener.security.protocol.map", any(kString),
     "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
     "Security protocol of each listener name."},
    {"controller.listener.names", any(kList), "",
     "Listeners that only a quorum would use; they are not opened."},
    {"log.dir", any(kList), "pelton-data", "The data directory."},
    {"log.dirs", any(kList), "", "The data directory; wins over log.dir.", nullptr, true},

    // --- topics ---
    {"auto.create.topics.enable", any(kBoolean), "true",
     "A topic that a client asks for by name is created.", flag<&B::auto_create_topics>},
    {"default.replication.factor", at_least(kInt, 1), "1",
     "Replicas of a new topic; one node holds one."},
    {"delete.topic.enable", any(kBoolean), "true", "Topics can be deleted.",
     flag<&B::delete_topic_enable>},
    {"num.partitions", at_least(kInt, 1), "1", "Partitions of a new topic.",
     number<&B::num_partitions>},
    {"min.insync.replicas", at_least(kInt, 1), "1",
     "Replicas that an acks=all record must be on; one node holds one."},
    {"compression.gzip.level", between(kInt, -1, 9), "-1", "Default of the topic key of this name.",
     log_number<&LogConfig::compression_gzip_level>},
    {"compression.lz4.level", between(kInt, 1, 17), "9", "Default of the topic key of this name.",
     log_number<&LogConfig::compression_lz4_level>},
    {"compression.type", one_of(kString, "uncompressed,zstd,lz4,snappy,gzip,producer"), "producer",
     "Default of the topic key of this name.", compression_type},
    {"compression.zstd.level", between(kInt, -131072, 22), "3", "Default of the topic key of this name.",
     log_number<&LogConfig::compression_zstd_level>},
    {"log.cleanup.policy", one_of(kList, "compact,delete"), "delete",
     "Default of the topic key cleanup.policy.", cleanup_policy},
    {"log.flush.interval.messages", at_least(kLong, 1), "1",
     "Default of the topic key flush.messages. 1 (Apache Kafka's default is 9223372036854775807): a "
     "record is acknowledged when it is on stable storage.",
     log_number<&LogConfig::flush_messages>},
    {"log.flush.scheduler.interval.ms", any(kLong), kForever,
     "Longest time that a record stays unsynced, when log.flush.interval.ms is not set.",
     log_number<&LogConfig::flush_ms>},
    {"log.flush.interval.ms", any(kLong), "", "Longest time that a record stays unsynced.",
     log_number<&LogConfig::flush_ms>, true},
    {"log.flush.offset.checkpoint.interval.ms", at_least(kInt, 0), "60000",
     "Time between two writings of the recovery points.",
     number<&B::flush_offset_checkpoint_interval_ms>},
    {"log.index.interval.bytes", at_least(kInt, 0), "4096",
     "Default of the topic key index.interval.bytes.", log_number<&LogConfig::index_interval_bytes>},
    {"log.index.size.max.bytes", at_least(kInt, 4), "10485760",
     "Default of the topic key segment.index.bytes.", log_number<&LogConfig::segment_index_bytes>},
    {"log.message.timestamp.after.max.ms", at_least(kLong, 0), "3600000",
     "Default of the topic key message.timestamp.after.max.ms.",
     log_number<&LogConfig::timestamp_after_max_ms>},
    {"log.message.timestamp.before.max.ms", at_least(kLong, 0), kForever,
     "Default of the topic key message.timestamp.before.max.ms.",
     log_number<&LogConfig::timestamp_before_max_ms>},
    {"log.message.timestamp.type", one_of(kString, "CreateTime,LogAppendTime"), "CreateTime",
     "Default of the topic key message.timestamp.type.", timestamp_type},
    {"log.retention.bytes", any(kLong), "-1", "Default of the topic key retention.bytes.",
     log_number<&LogConfig::retention_bytes>},
    {"log.retention.check.interval.ms", at_least(kLong, 1), "300000",
     "Time between two looks for segments past the retention limits.",
     number<&B::log_retention_check_interval_ms>},
    {"log.retention.hours", at_least(kInt, -1), "168", "Age at which segments are deleted, in hours.",
     log_time<&LogConfig::retention_ms, kHour>},
    {"log.retention.minutes", at_least(kInt, -1), "",
     "Age at which segments are deleted, in minutes; wins over hours.",
     log_time<&LogConfig::retention_ms, kMinute>, true},
    {"log.retention.ms", at_least(kLong, -1), "",
     "Age at which segments are deleted, in milliseconds; wins over minutes and hours.",
     log_number<&LogConfig::retention_ms>, true},
    {"log.roll.hours", at_least(kInt, 1), "168", "Age at which a new segment is begun, in hours.",
     log_time<&LogConfig::segment_ms, kHour>},
    {"log.roll.ms", at_least(kLong, 1), "",
     "Age at which a new segment is begun, in milliseconds; wins over hours.",
     log_number<&LogConfig::segment_ms>, true},
    {"log.roll.jitter.hours", at_least(kInt, 0), "0",
     "Largest random time by which a segment is ended early, in hours.",
     log_time<&LogConfig::segment_jitter_ms, kHour>},
    {"log.roll.jitter.ms", at_least(kLong, 0), "",
     "Largest random time by which a segment is ended early, in milliseconds; wins over hours.",
     log_number<&LogConfig::segment_jitter_ms>, true},
    {"log.segment.bytes", at_least(kInt, 1 << 20), "1073741824",
     "Default of the topic key segment.bytes.", log_number<&LogConfig::segment_bytes>},
    {"log.segment.delete.delay.ms", at_least(kLong, 0), "60000",
     "Default of the topic key file.delete.delay.ms.", log_number<&LogConfig::file_delete_delay_ms>},
    {"max.decompressed.message.bytes", between(kInt, 1, 2147483639), "2147483639",
     "Default of the topic key of this name.",
     log_number<&LogConfig::max_decompressed_message_bytes>},
    {"message.max.bytes", at_least(kInt, 0), "1048588", "Default of the topic key max.message.bytes.",
     log_number<&LogConfig::max_message_bytes>},
    {"producer.id.expiration.ms", at_least(kInt, 1), "86400000",
     "Time after which an idle idempotent producer's sequences are forgotten.", producer_id_expiration},

    // --- groups ---
    {"group.initial.rebalance.delay.ms", any(kInt), "3000",
     "Time that a new group waits for further members.", number<&B::group_initial_rebalance_delay_ms>},
    {"group.max.session.timeout.ms", any(kInt), "1800000", "Longest session timeout of a member.",
     number<&B::group_max_session_timeout_ms>},
    {"group.max.size", at_least(kInt, 1), "2147483647", "Most members of a group.",
     number<&B::group_max_size>},
    {"group.min.session.timeout.ms", any(kInt), "6000", "Shortest session timeout of a member.",
     number<&B::group_min_session_timeout_ms>},
    {"offset.metadata.max.bytes", any(kInt), "4096", "Longest text kept with a committed offset.",
     number<&B::offset_metadata_max_bytes>},
    {"offsets.retention.check.interval.ms", at_least(kLong, 1), "600000",
     "Time between two looks for expired offsets.", number<&B::offsets_retention_check_interval_ms>},
    {"offsets.retention.minutes", at_least(kInt, 1), "10080",
     "Time that a group without members keeps its offsets.", number<&B::offsets_retention_minutes>},
    {"offsets.topic.num.partitions", at_least(kInt, 1), "50", "Partitions of __consumer_offsets.",
     number<&B::offsets_topic_num_partitions>},
    {"offsets.topic.replication.factor", at_least(kShort, 1), "1",
     "Replicas of __consumer_offsets; one node holds one."},
    {"offsets.topic.segment.bytes", at_least(kInt, 1), "104857600", "Segment size of __consumer_offsets.",
     number<&B::offsets_topic_segment_bytes>},

    // --- requests and connections ---
    {"connections.max.idle.ms", any(kLong), "600000", "Idle connections are closed after so long.",
     number<&B::connections_max_idle_ms>},
    {"fetch.max.bytes", at_least(kInt, 1024), "57671680", "Most bytes of one Fetch answer.",
     number<&B::fetch_max_bytes>},
    {"max.incremental.fetch.session.cache.slots", at_least(kInt, 0), "1000",
     "Most incremental fetch sessions.", number<&B::max_fetch_sessions>},
    {"max.request.partition.size.limit", at_least(kInt, 1), "2000",
     "Most partitions in one DescribeTopicPartitions answer.", number<&B::request_partition_limit>},
    {"queued.max.request.bytes", any(kLong), "-1",
     "Memory for requests that are under way; -1 = a share of the machine's.",
     number<&B::queued_max_request_bytes>},
    {"socket.listen.backlog.size", at_least(kInt, 1), "1024", "Connections that wait to be accepted.",
     number<&B::socket_listen_backlog>},
    {"socket.receive.buffer.bytes", at_least(kInt, -1), "-1",
     "Receive buffer of a socket; -1 = the kernel's own tuning.",
     number<&B::socket_receive_buffer_bytes>},
    {"socket.request.max.bytes", at_least(kInt, 1), "104857600", "Largest request that is taken.",
     number<&B::socket_request_max_bytes>},
    {"socket.send.buffer.bytes", at_least(kInt, -1), "-1",
     "Send buffer of a socket; -1 = the kernel's own tuning.", number<&B::socket_send_buffer_bytes>},

    // --- this broker's own ---
    {"pelton.cluster.id", any(kString), "", "Cluster id of a directory that is formatted.",
     text<&B::cluster_id>, true},
    {"pelton.fetch.send.path", one_of(kString, "auto,sendfile,splice,copy"), "auto",
     "How record bytes go from file to socket.", text<&B::send_path>},
    {"pelton.groups.max.bytes", at_least(kLong, -1), "-1",
     "Memory for members of groups and committed offsets; -1 = an eighth of the machine's.",
     number<&B::groups_max_bytes>},
    {"pelton.log.level", one_of(kString, "trace,debug,info,warn,error,off"), "info",
     "Least level of what is logged.", text<&B::log_level>},
    {"pelton.max.in.flight.requests.per.connection", between(kInt, 1, 10'000), "64",
     "Requests of one connection that are worked on at a time.",
     number<&B::max_in_flight_per_connection>},
    {"pelton.pin.shards", any(kBoolean), "true", "Each shard's thread stays on one core.",
     flag<&B::pin_shards>},
    {"pelton.shards", between(kInt, 0, 1024), "0", "Shards (threads); 0 = one a core.",
     number<&B::shards>},
};

// Optimal string alignment distance (insert, drop, change, swap neighbours), cut off above `limit`.
int distance(std::string_view a, std::string_view b, int limit) {
  constexpr size_t kLongest = 64;
  size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (a.size() > kLongest || b.size() > kLongest || difference > static_cast<size_t>(limit)) {
    return limit + 1;
  }
  std::array<std::array<int, kLongest + 1>, 3> rows{};
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::span<const BrokerKey> broker_keys() { return kKeys; }

const BrokerKey* find_broker_key(std::string_view name) {
  auto found = std::ranges::find(kKeys, name, &BrokerKey::name);
  return found == std::end(kKeys) ? nullptr : found;
}

const IdleKey* find_idle_key(std::string_view name) {
  auto keys = idle_keys();
  auto found = std::ranges::lower_bound(keys, name, {}, &IdleKey::name);
  return found != keys.end() && found->name == name ? &*found : nullptr;
}

std::string_view suggest_key(std::string_view name) {
  int best = name.size() >= 8 ? 3 : 2;  // one more than is still near
  std::string_view nearest;
  auto consider = [&](std::string_view key) {
    int far = distance(name, key, best - 1);
    if (far < best) best = far, nearest = key;
  };
  for (const BrokerKey& key : broker_keys()) consider(key.name);
  for (const IdleKey& key : idle_keys()) consider(key.name);
  return nearest;
}

}  // namespace pelton::broker
