// Broker keys: listeners, connections and requests.
#include <cctype>

#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

void address_limits(BrokerConfig& config, const ConfigValue& value) {
  if (auto limits = parse_address_limits(value.text)) config.connection_limits.of_addresses = std::move(*limits);
}
template <auto Member>
void upper_text(BrokerConfig& config, const ConfigValue& value) {
  config.*Member = value.text;
  for (char& c : config.*Member) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

constexpr BrokerKey kKeys[] = {
    acts("advertised.listeners", not_empty(kList), kNull, kHigh, kReadOnly,
         "Where clients are told to connect. Not set: the address that the client dialled."),
    idle(kThreads, "background.threads", at_least(kInt, 1), "10", kHigh, kClusterWide),
    acts("connections.max.idle.ms", any(kLong), "600000", kMedium, kReadOnly,
         "Idle connections are closed after so long.",
         number<&B::connections_max_idle_ms>),
    idle(kOther, "delete.records.purgatory.purge.interval.requests", any(kInt), "1", kMedium, kReadOnly),
    acts("fetch.max.bytes", at_least(kInt, 1024), "57671680", kMedium, kReadOnly,
         "Most bytes of one Fetch answer.",
         number<&B::fetch_max_bytes>),
    idle(kOther, "fetch.purgatory.purge.interval.requests", any(kInt), "1000", kMedium, kReadOnly),
    acts("inter.broker.listener.name", any(kString), kNull, kMedium, kReadOnly,
         "The listener that max.connections and max.connection.creation.rate of the broker do not hold back "
         "when there are several; not set: PLAINTEXT.",
         upper_text<&B::inter_broker_listener>),
    acts("listener.security.protocol.map", any(kString),
         "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", kLow, kReadOnly,
         "Security protocol of each listener name."),
    acts("listeners", not_empty(kList), "PLAINTEXT://:9092", kHigh, kReadOnly,
         "Where clients connect: NAME://host:port, separated by commas; an empty host is every address."),
    acts("max.connection.creation.rate", at_least(kInt, 0), "2147483647", kMedium, kClusterWide,
         "New connections a second, on the average of the quota windows; others wait. Of one listener too: "
         "listener.name.<listener>.max.connection.creation.rate.",
         limit<&ConnectionLimitsConfig::all, &ListenerLimits::creation_rate>),
    acts("max.connections", at_least(kInt, 0), "2147483647", kMedium, kClusterWide,
         "Most connections, as far as the process's descriptors reach; others wait. Of one listener too: "
         "listener.name.<listener>.max.connections.",
         limit<&ConnectionLimitsConfig::all, &ListenerLimits::max_connections>),
    acts("max.connections.per.ip", at_least(kInt, 0), "2147483647", kMedium, kClusterWide,
         "Most connections from one address; others are closed.",
         limit<&ConnectionLimitsConfig::max_per_address>),
    acts("max.connections.per.ip.overrides", any(kString), "", kMedium, kClusterWide,
         "Addresses with their own max.connections.per.ip: address:count, separated by commas.",
         address_limits),
    acts("max.incremental.fetch.session.cache.slots", at_least(kInt, 0), "1000", kMedium, kReadOnly,
         "Most incremental fetch sessions.",
         number<&B::max_fetch_sessions>),
    acts("max.request.partition.size.limit", at_least(kInt, 1), "2000", kMedium, kReadOnly,
         "Most partitions in one DescribeTopicPartitions answer.",
         number<&B::request_partition_limit>),
    idle(kThreads, "num.io.threads", at_least(kInt, 1), "8", kHigh, kClusterWide),
    idle(kThreads, "num.network.threads", at_least(kInt, 1), "3", kHigh, kClusterWide),
    idle(kOther, "producer.purgatory.purge.interval.requests", any(kInt), "1000", kMedium, kReadOnly),
    acts("queued.max.request.bytes", any(kLong), "-1", kMedium, kReadOnly,
         "Memory for requests that are under way; -1 = a share of the machine's.",
         number<&B::queued_max_request_bytes>),
    idle(kThreads, "queued.max.requests", at_least(kInt, 1), "500", kHigh, kReadOnly),
    idle(kOther, "request.timeout.ms", any(kInt), "30000", kHigh, kReadOnly),
    idle(kOther, "socket.connection.setup.timeout.max.ms", any(kLong), "30000", kMedium, kReadOnly),
    idle(kOther, "socket.connection.setup.timeout.ms", any(kLong), "10000", kMedium, kReadOnly),
    acts("socket.listen.backlog.size", at_least(kInt, 1), "1024", kMedium, kReadOnly,
         "Connections that wait to be accepted.",
         number<&B::socket_listen_backlog>),
    acts("socket.receive.buffer.bytes", any(kInt), "-1", kHigh, kReadOnly,
         "Receive buffer of a socket; -1 = the kernel's own tuning.",
         number<&B::socket_receive_buffer_bytes>),
    acts("socket.request.max.bytes", at_least(kInt, 1), "104857600", kHigh, kReadOnly,
         "Largest request that is taken.",
         number<&B::socket_request_max_bytes>),
    acts("socket.send.buffer.bytes", any(kInt), "-1", kHigh, kReadOnly,
         "Send buffer of a socket; -1 = the kernel's own tuning.",
         number<&B::socket_send_buffer_bytes>),
};

}  // namespace

std::span<const BrokerKey> network_key_table() { return kKeys; }

}  // namespace pelton::broker
