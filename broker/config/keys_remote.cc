// Broker keys: remote storage.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    idle(kRemote, "follower.fetch.last.tiered.offset.enable", any(kBoolean), "false", kMedium, kClusterWide),
    idle(kRemote, "log.local.retention.bytes", at_least(kLong, -2), "-2", kMedium, kClusterWide),
    idle(kRemote, "log.local.retention.ms", at_least(kLong, -2), "-2", kMedium, kClusterWide),
    idle(kRemote, "log.remote.copy.lag.bytes", at_least(kLong, -1), "-1", kMedium, kClusterWide),
    idle(kRemote, "log.remote.copy.lag.ms", at_least(kLong, -1), "0", kMedium, kClusterWide),
    idle(kRemote, "remote.fetch.max.wait.ms", at_least(kInt, 1), "500", kMedium, kClusterWide),
    idle(kRemote, "remote.list.offsets.request.timeout.ms", at_least(kLong, 1), "30000", kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.index.file.cache.total.size.bytes", at_least(kLong, 1), "1073741824", kLow,
         kClusterWide),
    internal(idle(kRemote, "remote.log.index.file.cache.ttl.ms", at_least(kLong, -1), "900000", kLow,
                  kReadOnly)),
    idle(kRemote, "remote.log.manager.copier.thread.pool.size", at_least(kInt, 1), "10", kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.manager.copy.max.bytes.per.second", at_least(kLong, 1), kForever, kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.manager.copy.quota.window.num", at_least(kInt, 1), "11", kMedium, kReadOnly),
    idle(kRemote, "remote.log.manager.copy.quota.window.size.seconds", at_least(kInt, 1), "1", kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.manager.expiration.thread.pool.size", at_least(kInt, 1), "10", kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.manager.fetch.max.bytes.per.second", at_least(kLong, 1), kForever, kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.manager.fetch.quota.window.num", at_least(kInt, 1), "11", kMedium, kReadOnly),
    idle(kRemote, "remote.log.manager.fetch.quota.window.size.seconds", at_least(kInt, 1), "1", kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.manager.follower.thread.pool.size", at_least(kInt, 1), "2", kMedium,
         kClusterWide),
    idle(kRemote, "remote.log.manager.task.interval.ms", at_least(kLong, 1), "30000", kLow, kReadOnly),
    internal(idle(kRemote, "remote.log.manager.task.retry.backoff.max.ms", at_least(kLong, 1), "30000", kLow,
                  kReadOnly)),
    internal(idle(kRemote, "remote.log.manager.task.retry.backoff.ms", at_least(kLong, 1), "500", kLow,
                  kReadOnly)),
    internal(idle(kRemote, "remote.log.manager.task.retry.jitter", between(kDouble, 0, 0.5), "0.2", kLow,
                  kReadOnly)),
    idle(kRemote, "remote.log.manager.thread.pool.size", at_least(kInt, 1), "2", kMedium, kReadOnly),
    idle(kRemote, "remote.log.metadata.custom.metadata.max.bytes", at_least(kInt, 0), "128", kLow,
         kReadOnly),
    idle(kRemote, "remote.log.metadata.manager.class.name", not_empty(kString),
         "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.metadata.manager.class.path", any(kString), kNull, kMedium, kReadOnly),
    idle(kRemote, "remote.log.metadata.manager.impl.prefix", not_empty(kString), "rlmm.config.", kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.metadata.manager.listener.name", not_empty(kString), kNull, kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.reader.max.pending.tasks", at_least(kInt, 1), "100", kMedium, kReadOnly),
    idle(kRemote, "remote.log.reader.threads", at_least(kInt, 1), "10", kMedium, kClusterWide),
    idle(kRemote, "remote.log.storage.manager.class.name", not_empty(kString), kNull, kMedium, kReadOnly),
    idle(kRemote, "remote.log.storage.manager.class.path", any(kString), kNull, kMedium, kReadOnly),
    idle(kRemote, "remote.log.storage.manager.impl.prefix", not_empty(kString), "rsm.config.", kMedium,
         kReadOnly),
    idle(kRemote, "remote.log.storage.system.enable", any(kBoolean), "false", kMedium, kReadOnly),
};

}  // namespace

std::span<const BrokerKey> remote_key_table() { return kKeys; }

}  // namespace pelton::broker
