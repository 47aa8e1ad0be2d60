// Topology: the cluster as the clients of one listener see it. The only source of broker ids, leaders,
// coordinators and addresses in answers; ids that only a listener shows are never persisted.
//
// A view for one answer: it points into the snapshot, the connection and the configuration. Partitions in a row with
// the same replicas share one list in the answer's arena.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "broker/catalog/snapshot.h"
#include "broker/config/broker_config.h"
#include "proto/arena.h"
#include "proto/types.h"

namespace pelton::broker {

struct ConnectionInfo;

struct BrokerNode {
  proto::BrokerId id;
  std::string_view host;
  int32_t port = 0;
  std::optional<std::string_view> rack;
};

class Topology {
 public:
  Topology(const CatalogSnapshot& snapshot, const ConnectionInfo& connection,
           const BrokerConfig& config);

  std::span<const BrokerNode> brokers() const { return {&self_, 1}; }
  proto::BrokerId controller() const { return self_.id; }
  // Who coordinates the group or transaction whose state is in this partition of an internal topic.
  // nullptr: the topic or its leader is not there.
  const BrokerNode* coordinator(std::string_view internal_topic, int32_t partition) const;

  // -1: no leader is available.
  proto::BrokerId leader(const PartitionInfo& partition) const {
    return partition.leader == self_.id.value ? self_.id : proto::BrokerId(-1);
  }
  std::span<proto::BrokerId> replicas(const PartitionInfo& partition, proto::Arena& arena) {
    return ids(partition.replicas, arena);
  }
  std::span<proto::BrokerId> in_sync(const PartitionInfo& partition, proto::Arena& arena) {
    return ids(partition.isr, arena);
  }
  // Replicas on brokers that are not there.
  std::span<proto::BrokerId> offline(const PartitionInfo& partition, proto::Arena& arena) const;

 private:
  std::span<proto::BrokerId> ids(const std::vector<int32_t>& brokers, proto::Arena& arena) {
    return holds(last_ids_, brokers) ? last_ids_ : last_ids_ = copy_ids(brokers, arena);
  }
  static bool holds(std::span<const proto::BrokerId> ids, const std::vector<int32_t>& brokers) {
    return std::ranges::equal(ids, brokers, {}, &proto::BrokerId::value);
  }
  static std::span<proto::BrokerId> copy_ids(const std::vector<int32_t>& brokers, proto::Arena& arena);

  const CatalogSnapshot& snapshot_;
  BrokerNode self_;
  std::span<proto::BrokerId> last_ids_;
};

inline Topology topology(const CatalogSnapshot& snapshot, const ConnectionInfo& connection,
                         const BrokerConfig& config) {
  return Topology(snapshot, connection, config);
}

}  // namespace pelton::broker
