// Broker keys: replication.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    idle(kReplication, "alter.log.dirs.replication.quota.window.num", at_least(kInt, 1), "11", kLow,
         kReadOnly),
    idle(kReplication, "alter.log.dirs.replication.quota.window.size.seconds", at_least(kInt, 1), "1", kLow,
         kReadOnly),
    idle(kReplication, "auto.leader.rebalance.enable", any(kBoolean), "true", kHigh, kReadOnly),
    acts("default.replication.factor", any(kInt), "1", kMedium, kReadOnly,
         "Replicas of a new topic; one node holds one."),
    idle(kReplication, "leader.imbalance.check.interval.seconds", at_least(kLong, 1), "300", kHigh,
         kReadOnly),
    acts("min.insync.replicas", at_least(kInt, 1), "1", kHigh, kClusterWide,
         "Replicas that an acks=all record must be on; one node holds one."),
    idle(kThreads, "num.replica.alter.log.dirs.threads", any(kInt), kNull, kHigh, kReadOnly),
    idle(kReplication, "num.replica.fetchers", at_least(kInt, 1), "1", kHigh, kClusterWide),
    idle(kReplication, "replica.fetch.backoff.ms", at_least(kInt, 0), "1000", kMedium, kReadOnly),
    idle(kReplication, "replica.fetch.max.bytes", at_least(kInt, 0), "1048576", kMedium, kReadOnly),
    idle(kReplication, "replica.fetch.min.bytes", any(kInt), "1", kHigh, kReadOnly),
    idle(kReplication, "replica.fetch.response.max.bytes", at_least(kInt, 0), "10485760", kMedium,
         kReadOnly),
    idle(kReplication, "replica.fetch.wait.max.ms", any(kInt), "500", kHigh, kReadOnly),
    idle(kReplication, "replica.high.watermark.checkpoint.interval.ms", any(kLong), "5000", kHigh,
         kReadOnly),
    idle(kReplication, "replica.lag.time.max.ms", any(kLong), "30000", kHigh, kReadOnly),
    idle(kReplication, "replica.selector.class", any(kString), kNull, kMedium, kReadOnly),
    idle(kReplication, "replica.socket.receive.buffer.bytes", any(kInt), "65536", kHigh, kReadOnly),
    idle(kReplication, "replica.socket.timeout.ms", any(kInt), "30000", kHigh, kReadOnly),
    idle(kReplication, "replication.quota.window.num", at_least(kInt, 1), "11", kLow, kReadOnly),
    idle(kReplication, "replication.quota.window.size.seconds", at_least(kInt, 1), "1", kLow, kReadOnly),
    idle(kReplication, "unclean.leader.election.enable", any(kBoolean), "false", kHigh, kClusterWide),
    internal(idle(kReplication, "unclean.leader.election.interval.ms", at_least(kLong, 1), "300000", kMedium,
                  kReadOnly)),
};

}  // namespace

std::span<const BrokerKey> replication_key_table() { return kKeys; }

}  // namespace pelton::broker
