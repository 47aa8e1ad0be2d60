#include "broker/catalog/partition_state.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

constexpr int32_t kNoLeaderChange = -2;
constexpr int8_t kNoRecoveryChange = -1;

std::vector<int32_t> ids(std::span<const proto::BrokerId> brokers) {
  std::vector<int32_t> result;
  for (proto::BrokerId broker : brokers) result.push_back(broker.value);
  return result;
}

std::vector<proto::BrokerId> brokers(const std::vector<int32_t>& ids) {
  std::vector<proto::BrokerId> result;
  for (int32_t id : ids) result.emplace_back(id);
  return result;
}

bool says_nothing(const PartitionExtra& extra) {
  return extra.removing_replicas.empty() && extra.adding_replicas.empty() &&
         extra.eligible_leader_replicas.empty() && extra.last_known_elr.empty() &&
         extra.directories.size() <= 1 && extra.leader_recovery_state == 0;
}

void set_extra(PartitionInfo& partition, PartitionExtra extra) {
  partition.directory = extra.directories.empty() ? Uuid{} : extra.directories.front();
  partition.extra = says_nothing(extra) ? nullptr : std::make_shared<PartitionExtra>(std::move(extra));
}

PartitionExtra extra_of(const PartitionInfo& partition) {
  if (partition.extra != nullptr) return *partition.extra;
  PartitionExtra extra;
  if (!partition.directory.is_zero()) extra.directories.push_back(partition.directory);
  return extra;
}

}  // namespace

PartitionInfo partition_of(const proto::PartitionRecord& record) {
  PartitionInfo info;
  info.index = record.partition_id;
  info.leader = record.leader.value;
  info.leader_epoch = record.leader_epoch;
  info.partition_epoch = record.partition_epoch;
  info.replicas = ids(record.replicas);
  info.isr.assign(record.isr.begin(), record.isr.end());
  PartitionExtra extra;
  extra.removing_replicas = ids(record.removing_replicas);
  extra.adding_replicas = ids(record.adding_replicas);
  extra.directories.assign(record.directories.begin(), record.directories.end());
  extra.leader_recovery_state = record.leader_recovery_state;
  if (record.eligible_leader_replicas) extra.eligible_leader_replicas = ids(*record.eligible_leader_replicas);
  if (record.last_known_elr) extra.last_known_elr = ids(*record.last_known_elr);
  set_extra(info, std::move(extra));
  return info;
}

void change_partition(PartitionInfo& partition, const proto::PartitionChangeRecord& change) {
  if (change.isr) partition.isr = ids(*change.isr);
  if (change.replicas) partition.replicas = ids(*change.replicas);
  if (change.leader.value != kNoLeaderChange) {
    partition.leader = change.leader.value;
    ++partition.leader_epoch;
  }
  ++partition.partition_epoch;
  PartitionExtra extra = extra_of(partition);
  if (change.removing_replicas) extra.removing_replicas = ids(*change.removing_replicas);
  if (change.adding_replicas) extra.adding_replicas = ids(*change.adding_replicas);
  if (change.directories) extra.directories.assign(change.directories->begin(), change.directories->end());
  if (change.leader_recovery_state != kNoRecoveryChange) {
    extra.leader_recovery_state = change.leader_recovery_state;
  }
  if (change.eligible_leader_replicas) extra.eligible_leader_replicas = ids(*change.eligible_leader_replicas);
  if (change.last_known_elr) extra.last_known_elr = ids(*change.last_known_elr);
  set_extra(partition, std::move(extra));
}

void clear_eligible_replicas(PartitionInfo& partition) {
  if (partition.extra == nullptr) return;
  PartitionExtra extra = *partition.extra;
  extra.eligible_leader_replicas.clear();
  extra.last_known_elr.clear();
  set_extra(partition, std::move(extra));
}

void add_partition_record(const TopicInfo& topic, const PartitionInfo& partition, int16_t version,
                          MetadataRecords& records) {
  constexpr int16_t kWithDirectories = 1, kWithEligibleReplicas = 2;
  PartitionExtra extra = extra_of(partition);
  std::vector<proto::BrokerId> replicas = brokers(partition.replicas);
  std::vector<proto::BrokerId> removing = brokers(extra.removing_replicas);
  std::vector<proto::BrokerId> adding = brokers(extra.adding_replicas);
  std::vector<proto::BrokerId> eligible = brokers(extra.eligible_leader_replicas);
  std::vector<proto::BrokerId> last_known = brokers(extra.last_known_elr);
  std::vector<int32_t> isr = partition.isr;
  proto::PartitionRecord record;
  record.partition_id = partition.index;
  record.topic_id = topic.id;
  record.replicas = replicas;
  record.isr = isr;
  record.removing_replicas = removing;
  record.adding_replicas = adding;
  record.leader = proto::BrokerId(partition.leader);
  record.leader_recovery_state = extra.leader_recovery_state;
  record.leader_epoch = partition.leader_epoch;
  record.partition_epoch = partition.partition_epoch;
  if (version >= kWithDirectories) record.directories = extra.directories;
  if (version >= kWithEligibleReplicas) {
    if (!eligible.empty()) record.eligible_leader_replicas = std::span(eligible);
    if (!last_known.empty()) record.last_known_elr = std::span(last_known);
  }
  records.add(record, version);
}

}  // namespace pelton::broker
