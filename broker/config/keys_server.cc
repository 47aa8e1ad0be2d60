// Broker keys: the server as a whole.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    idle(kPlugins, "alter.config.policy.class.name", any(kClass), kNull, kLow, kReadOnly),
    idle(kQuotas, "client.quota.callback.class", any(kClass), kNull, kLow, kReadOnly),
    idle(kPlugins, "config.providers", any(kList), "", kLow, kClusterWide),
    idle(kMetrics, "kafka.metrics.polling.interval.secs", at_least(kInt, 1), "10", kLow, kReadOnly),
    idle(kMetrics, "kafka.metrics.reporters", any(kList), "", kLow, kReadOnly),
    idle(kMetrics, "metric.reporters", any(kList), "", kLow, kClusterWide),
    internal(idle(kMetrics, "metrics.jmx.exclude", any(kString), kNull, kLow, kReadOnly)),
    internal(idle(kMetrics, "metrics.jmx.include", any(kString), kNull, kLow, kReadOnly)),
    idle(kMetrics, "metrics.num.samples", at_least(kInt, 1), "2", kLow, kReadOnly),
    idle(kMetrics, "metrics.recording.level", any(kString), "INFO", kLow, kReadOnly),
    idle(kMetrics, "metrics.sample.window.ms", at_least(kLong, 1), "30000", kLow, kReadOnly),
    acts("quota.window.num", at_least(kInt, 1), "11", kLow, kReadOnly,
         "Windows over which a rate is counted.",
         limit<&ConnectionLimitsConfig::window_num>),
    acts("quota.window.size.seconds", at_least(kInt, 1), "1", kLow, kReadOnly,
         "Length of a window over which a rate is counted.",
         limit<&ConnectionLimitsConfig::window_seconds>),
    idle(kMetrics, "telemetry.max.bytes", at_least(kInt, 1), "1048576", kLow, kReadOnly),
};

}  // namespace

std::span<const BrokerKey> server_key_table() { return kKeys; }

}  // namespace pelton::broker
