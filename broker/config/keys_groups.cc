// Broker keys: classic groups and committed offsets.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    idle(kOther, "group.coordinator.append.linger.ms", at_least(kInt, -1), "-1", kMedium, kReadOnly),
    idle(kThreads, "group.coordinator.background.threads", at_least(kInt, 1), "2", kHigh, kReadOnly),
    idle(kOther, "group.coordinator.cached.buffer.max.bytes", at_least(kInt, 524'288), "1048588", kMedium,
         kClusterWide),
    idle(kThreads, "group.coordinator.threads", at_least(kInt, 1), "4", kHigh, kReadOnly),
    acts("group.initial.rebalance.delay.ms", any(kInt), "3000", kMedium, kReadOnly,
         "Time that a new group waits for further members.",
         number<&B::group_initial_rebalance_delay_ms>),
    acts("group.max.session.timeout.ms", any(kInt), "1800000", kMedium, kReadOnly,
         "Longest session timeout of a member.",
         number<&B::group_max_session_timeout_ms>),
    acts("group.max.size", at_least(kInt, 1), "2147483647", kMedium, kReadOnly,
         "Most members of a group.",
         number<&B::group_max_size>),
    acts("group.min.session.timeout.ms", any(kInt), "6000", kMedium, kReadOnly,
         "Shortest session timeout of a member.",
         number<&B::group_min_session_timeout_ms>),
    acts("offset.metadata.max.bytes", any(kInt), "4096", kHigh, kReadOnly,
         "Longest text kept with a committed offset.",
         number<&B::offset_metadata_max_bytes>),
    acts("offsets.commit.timeout.ms", at_least(kInt, 1), "5000", kHigh, kReadOnly,
         "Longest time that a commit waits to be stored.",
         number<&B::offsets_commit_timeout_ms>),
    acts("offsets.load.buffer.size", at_least(kInt, 1), "5242880", kHigh, kReadOnly,
         "Bytes of __consumer_offsets that are read at a time when groups are loaded; a megabyte at most.",
         number<&B::offsets_load_buffer_size>),
    acts("offsets.retention.check.interval.ms", at_least(kLong, 1), "600000", kHigh, kReadOnly,
         "Time between two looks for expired offsets.",
         number<&B::offsets_retention_check_interval_ms>),
    acts("offsets.retention.minutes", at_least(kInt, 1), "10080", kHigh, kReadOnly,
         "Time that a group without members keeps its offsets.",
         number<&B::offsets_retention_minutes>),
    acts("offsets.topic.compression.codec", between(kInt, 0, 4), "0", kHigh, kReadOnly,
         "Compression of what groups write: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
         number<&B::offsets_topic_compression_codec>),
    acts("offsets.topic.num.partitions", at_least(kInt, 1), "50", kHigh, kReadOnly,
         "Partitions of __consumer_offsets.",
         number<&B::offsets_topic_num_partitions>),
    acts("offsets.topic.replication.factor", at_least(kShort, 1), "1", kHigh, kReadOnly,
         "Replicas of __consumer_offsets; one node holds one."),
    acts("offsets.topic.segment.bytes", at_least(kInt, 1), "104857600", kHigh, kReadOnly,
         "Segment size of __consumer_offsets.",
         number<&B::offsets_topic_segment_bytes>),
};

}  // namespace

std::span<const BrokerKey> group_key_table() { return kKeys; }

}  // namespace pelton::broker
