#include "broker/catalog/registration.h"

#include <algorithm>

#include <fmt/format.h>

#include "broker/catalog/topic_changes.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

struct Address {
  std::string name;
  std::string host;
  uint16_t port = 0;
  std::string text() const { return fmt::format("{}://{}:{}", name, host, port); }
};

// Where a listener without an advertised address can be reached is known to its clients only; the
// record wants a host, so it gets the one that is bound.
std::vector<Address> addresses(const BrokerConfig& config) {
  std::vector<Address> all;
  for (const ListenerConfig& listener : config.listeners) {
    bool advertised = !listener.advertised_host.empty();
    const std::string& host = advertised ? listener.advertised_host : listener.bind.host;
    all.push_back({listener.name, host.empty() ? "localhost" : host,
                   advertised ? listener.advertised_port : listener.bind.port});
  }
  return all;
}

bool up_to_date(const BrokerRegistration& registered, const BrokerShard& here,
                const std::vector<Address>& now) {
  bool same_addresses = std::ranges::equal(
      registered.endpoints, now, [](const std::string& a, const Address& b) { return a == b.text(); });
  bool same_directory = registered.log_dirs.size() == 1 &&
                        registered.log_dirs.front() == here.log_dir.directory_id();
  return !registered.fenced && same_addresses && same_directory &&
         registered.rack.value_or("") == here.config.rack;
}

}  // namespace

void plan_registration(const CatalogReplay& state, const BrokerShard& here, int64_t epoch,
                       MetadataRecords& records) {
  using Record = proto::RegisterBrokerRecord;
  std::vector<Address> now = addresses(here.config);
  const BrokerRegistration* registered = state.broker(here.config.node_id);
  if (registered != nullptr && up_to_date(*registered, here, now)) return;

  std::vector<Record::BrokerEndpoint> endpoints;
  for (const Address& address : now) {
    endpoints.push_back({.name = address.name, .host = address.host, .port = address.port,
                         .security_protocol = 0});
  }
  Record::BrokerFeature feature{.name = kMetadataVersionFeature,
                                .min_supported_version = kMinMetadataVersion,
                                .max_supported_version = kMetadataVersion};
  Uuid directory = here.log_dir.directory_id();
  Record record;
  record.broker_id = proto::BrokerId(here.config.node_id);
  record.incarnation_id = make_topic_id(here.shard.io());
  record.broker_epoch = epoch;
  record.end_points = endpoints;
  record.features = {&feature, 1};
  record.rack = std::nullopt;
  if (!here.config.rack.empty()) record.rack = here.config.rack;
  record.fenced = false;
  record.log_dirs = {&directory, 1};
  // Levels below 15 and 4.4's own did not have these fields; the newest level has them all.
  auto level = state.features().find(kMetadataVersionFeature);
  bool newest = level == state.features().end() || level->second >= kMetadataVersion;
  constexpr int16_t kWithCordonedDirs = 4, kWithLogDirs = 3;
  records.add(record, newest ? kWithCordonedDirs : kWithLogDirs);
}

void plan_leaders(const CatalogReplay& state, int32_t node_id, MetadataRecords& records) {
  int16_t version = partition_record_version(state);
  std::span<proto::BrokerId> none;
  for (const auto& [name, topic] : state.topics()) {
    for (const PartitionInfo& partition : topic->partitions) {
      bool ours = partition.replicas.size() == 1 && partition.replicas.front() == node_id;
      if (!ours || partition.leader == node_id) continue;
      proto::BrokerId self(node_id);
      proto::PartitionChangeRecord record;
      record.partition_id = partition.index;
      record.topic_id = topic->id;
      record.isr = std::span(&self, 1);
      record.leader = self;
      if (state.features().contains("eligible.leader.replicas.version")) {
        record.eligible_leader_replicas = none;
        record.last_known_elr = none;
      }
      records.add(record, version);
    }
  }
}

}  // namespace pelton::broker
