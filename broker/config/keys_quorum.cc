// Broker keys: the node and the quorum.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    idle(kQuorum, "broker.heartbeat.interval.ms", any(kInt), "2000", kMedium, kReadOnly),
    acts("broker.id", any(kInt), "-1", kHigh, kReadOnly, "Older spelling of node.id."),
    acts("broker.rack", any(kString), kNull, kMedium, kReadOnly, "Rack of the broker, told to clients.",
         text<&B::rack>),
    idle(kQuorum, "broker.session.timeout.ms", any(kInt), "9000", kMedium, kReadOnly),
    idle(kQuorum, "controlled.shutdown.enable", any(kBoolean), "true", kMedium, kReadOnly),
    acts("controller.listener.names", not_empty(kList), kNull, kHigh, kReadOnly,
         "Listeners that answer what admin tools ask a controller (--bootstrap-controller)."),
    internal(idle(kQuorum, "controller.performance.always.log.threshold.ms", at_least(kLong, 0), "2000",
                  kMedium, kReadOnly)),
    internal(idle(kQuorum, "controller.performance.sample.period.ms", at_least(kLong, 100), "60000", kMedium,
                  kReadOnly)),
    idle(kQuorum, "controller.quorum.append.linger.ms", at_least(kInt, 0), "25", kMedium, kReadOnly),
    idle(kQuorum, "controller.quorum.auto.join.enable", any(kBoolean), "false", kLow, kReadOnly),
    idle(kQuorum, "controller.quorum.bootstrap.servers", checked(kList, kServersForm, check_servers), "",
         kHigh, kReadOnly),
    idle(kQuorum, "controller.quorum.election.backoff.max.ms", at_least(kInt, 0), "1000", kHigh, kReadOnly),
    idle(kQuorum, "controller.quorum.election.timeout.ms", at_least(kInt, 0), "1000", kHigh, kReadOnly),
    idle(kQuorum, "controller.quorum.fetch.max.bytes", at_least(kInt, 1), "1048576", kLow, kReadOnly),
    idle(kQuorum, "controller.quorum.fetch.snapshot.max.bytes", at_least(kInt, 1), "1048576", kLow,
         kReadOnly),
    idle(kQuorum, "controller.quorum.fetch.timeout.ms", at_least(kInt, 0), "2000", kHigh, kReadOnly),
    idle(kQuorum, "controller.quorum.request.timeout.ms", at_least(kInt, 0), "2000", kMedium, kReadOnly),
    idle(kQuorum, "controller.quorum.retry.backoff.ms", at_least(kInt, 0), "20", kLow, kReadOnly),
    idle(kQuorum, "controller.quorum.voters", checked(kList, kVotersForm, check_voters), "", kHigh,
         kReadOnly),
    idle(kQuotas, "controller.quota.window.num", at_least(kInt, 1), "11", kLow, kReadOnly),
    idle(kQuotas, "controller.quota.window.size.seconds", at_least(kInt, 1), "1", kLow, kReadOnly),
    idle(kQuorum, "controller.socket.timeout.ms", any(kInt), "30000", kMedium, kReadOnly),
    idle(kQuorum, "early.start.listeners", any(kList), kNull, kHigh, kReadOnly),
    idle(kQuorum, "initial.broker.registration.timeout.ms", any(kInt), "60000", kMedium, kReadOnly),
    internal(acts("internal.metadata.delete.delay.millis", any(kLong), "60000", kLow, kReadOnly,
                  "Time between taking a file out of the metadata log and removing it from the disk.",
                  number<&B::metadata_delete_delay_ms>)),
    internal(acts("internal.metadata.log.segment.bytes", any(kInt), kNull, kLow, kReadOnly,
                  "metadata.log.segment.bytes without its lower bound, for tests.",
                  number<&B::metadata_small_segment_bytes>)),
    internal(idle(kQuorum, "internal.metadata.max.batch.size.in.bytes", any(kInt), "8388608", kLow,
                  kReadOnly)),
    idle(kQuorum, "metadata.log.dir", any(kString), kNull, kHigh, kReadOnly),
    acts("metadata.log.max.record.bytes.between.snapshots", at_least(kLong, 1), "20971520", kHigh, kReadOnly,
         "Growth of the metadata log after which a snapshot of the metadata is written.",
         number<&B::metadata_snapshot_bytes>),
    acts("metadata.log.max.snapshot.interval.ms", at_least(kLong, 0), "3600000", kHigh, kReadOnly,
         "Time after the first change since the last snapshot of the metadata at which the next change brings "
         "a new one; 0 = the time does not count.",
         number<&B::metadata_snapshot_interval_ms>),
    acts("metadata.log.segment.bytes", at_least(kInt, 8'388'608), "1073741824", kHigh, kReadOnly,
         "Size at which the metadata log begins a new segment file.", number<&B::metadata_segment_bytes>),
    acts("metadata.log.segment.ms", any(kLong), "604800000", kHigh, kReadOnly,
         "Age at which the metadata log begins a new segment file.", number<&B::metadata_segment_ms>),
    idle(kQuorum, "metadata.max.idle.interval.ms", at_least(kInt, 0), "500", kLow, kReadOnly),
    acts("metadata.max.retention.bytes", any(kLong), "104857600", kHigh, kReadOnly,
         "Size of the metadata log and its snapshots above which all but the newest snapshot may go, and the "
         "log before it; negative = no limit.",
         number<&B::metadata_retention_bytes>),
    acts("metadata.max.retention.ms", any(kLong), "604800000", kHigh, kReadOnly,
         "Age above which a snapshot that has a successor goes, and the log before that; negative = no limit.",
         number<&B::metadata_retention_ms>),
    acts("node.id", at_least(kInt, 0), "1", kHigh, kReadOnly, "The broker's id in the cluster."),
    idle(kQuorum, "process.roles", some_of("broker,controller"), kNull, kHigh, kReadOnly),
    internal(idle(kQuorum, "server.max.startup.time.ms", at_least(kLong, 0), kForever, kMedium, kReadOnly)),
    internal(idle(kQuorum, "unstable.api.versions.enable", any(kBoolean), "false", kHigh, kReadOnly)),
    internal(idle(kQuorum, "unstable.feature.versions.enable", any(kBoolean), "false", kHigh, kReadOnly)),
};

}  // namespace

std::span<const BrokerKey> quorum_key_table() { return kKeys; }

}  // namespace pelton::broker
