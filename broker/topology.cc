#include "broker/topology.h"

#include <algorithm>
#include <string>
#include <vector>

#include "broker/request.h"

namespace pelton::broker {
namespace {

// A client that came over IPv4 to a dual stack socket dialled the IPv4 address.
std::string_view dialled_host(const SocketAddress& address) {
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view host = address.host;
  return host.starts_with(kMapped) ? host.substr(kMapped.size()) : host;
}

BrokerNode make_node(const ConnectionInfo& connection, const BrokerConfig& config) {
  BrokerNode node;
  node.id = proto::BrokerId(config.node_id);
  if (!config.rack.empty()) node.rack = config.rack;
  const auto& listeners = connection.controller ? config.controller_listeners : config.listeners;
  auto listener = std::ranges::find(listeners, connection.listener, &ListenerConfig::name);
  bool known = listener != listeners.end();
  node.host = known && !listener->advertised_host.empty() ? std::string_view(listener->advertised_host)
                                                          : dialled_host(connection.dialled);
  node.port = known && listener->advertised_port != 0 ? listener->advertised_port : connection.dialled.port;
  return node;
}

}  // namespace

Topology::Topology(const CatalogSnapshot& snapshot, const ConnectionInfo& connection,
                   const BrokerConfig& config)
    : snapshot_(snapshot), self_(make_node(connection, config)) {}

const BrokerNode* Topology::coordinator(std::string_view internal_topic, int32_t partition) const {
  const PartitionInfo* info = snapshot_.find_partition(internal_topic, partition);
  return info != nullptr && leader(*info) == self_.id ? &self_ : nullptr;
}

std::span<proto::BrokerId> Topology::copy_ids(const std::vector<int32_t>& brokers, proto::Arena& arena) {
  auto ids = arena.array<proto::BrokerId>(brokers.size());
  std::ranges::transform(brokers, ids.begin(), [](int32_t id) { return proto::BrokerId(id); });
  return ids;
}

std::span<proto::BrokerId> Topology::offline(const PartitionInfo& partition, proto::Arena& arena) const {
  auto here = std::ranges::count(partition.replicas, self_.id.value);
  if (static_cast<size_t>(here) == partition.replicas.size()) return {};
  std::vector<int32_t> missing = partition.replicas;
  std::erase(missing, self_.id.value);
  return copy_ids(missing, arena);
}

}  // namespace pelton::broker
