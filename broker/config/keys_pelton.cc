// Broker keys: this broker's own.
#include "broker/config/key_tables.h"

namespace pelton::broker {
namespace {

using namespace key_words;

constexpr BrokerKey kKeys[] = {
    acts("pelton.cluster.id", any(kString), kNull, kLow, kReadOnly,
         "Cluster id of a directory that is formatted.",
         text<&B::cluster_id>),
    acts("pelton.connection.setup.timeout.ms", at_least(kInt, 0), "10000", kLow, kReadOnly,
         "A connection whose first request is not here so long after it was accepted is closed; 0 = never.",
         number<&B::connection_setup_timeout_ms>),
    acts("pelton.fetch.send.path", one_of(kString, "auto,sendfile,splice,copy"), "auto", kLow, kReadOnly,
         "How record bytes go from file to socket.",
         text<&B::send_path>),
    acts("pelton.groups.max.bytes", at_least(kLong, -1), "-1", kLow, kReadOnly,
         "Memory for members of groups and committed offsets; -1 = an eighth of the machine's.",
         number<&B::groups_max_bytes>),
    acts("pelton.log.level", one_of(kString, "trace,debug,info,warn,error"), "info", kLow, kReadOnly,
         "Least level of what is logged.",
         text<&B::log_level>),
    acts("pelton.max.in.flight.requests.per.connection", between(kInt, 1, 10'000), "64", kLow, kReadOnly,
         "Requests of one connection that are worked on at a time.",
         number<&B::max_in_flight_per_connection>),
    acts("pelton.max.unsent.bytes.per.connection", at_least(kInt, 1), "1048576", kLow, kReadOnly,
         "Bytes of answers that a client has not read; beyond that no more of its requests are read.",
         number<&B::max_unsent_bytes_per_connection>),
    acts("pelton.metrics.listener", any(kString), "127.0.0.1:9404", kLow, kReadOnly,
         "Where metrics (/metrics, for Prometheus), /health and /ready are served by HTTP: address:port; "
         "empty: nowhere. When nothing is set and the port is taken, they are not served."),
    acts("pelton.pin.shards", any(kBoolean), "true", kLow, kReadOnly,
         "Each shard's thread stays on one core.",
         flag<&B::pin_shards>),
    acts("pelton.request.receive.timeout.ms", at_least(kInt, 0), "30000", kLow, kReadOnly,
         "A request, or the next MiB of a large one, must be here so long after its first byte, or its "
         "connection is closed; 0 = never.",
         number<&B::request_receive_timeout_ms>),
    acts("pelton.shards", between(kInt, 0, 1024), "0", kLow, kReadOnly,
         "Shards (threads); 0 = one a core.",
         number<&B::shards>),
};

}  // namespace

std::span<const BrokerKey> pelton_key_table() { return kKeys; }

}  // namespace pelton::broker
