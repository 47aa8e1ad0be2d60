#include "broker/partition_set.h"

#include "broker/broker_shard.h"
#include "reactor/base/log.h"

namespace pelton::broker {

Partition* PartitionSet::find(Uuid topic_id, int32_t index) {
  auto found = partitions_.find(Key{topic_id, index});
  return found == partitions_.end() ? nullptr : found->second.get();
}

Result<void, std::string> PartitionSet::apply(std::shared_ptr<const CatalogSnapshot> next) {
  const CatalogSnapshot* before = applied_.get();
  FoundNames found;
  if (before == nullptr)
    for (const auto& each : here_.log_dir.partitions()) found.insert(each.id.directory_name());
  if (before != nullptr)
    for (const auto& [name, topic] : before->topics())
      if (next->find(topic->id) == nullptr) remove(*topic);
  for (const auto& [name, topic] : next->topics()) {
    const TopicInfo* old = before == nullptr ? nullptr : before->find(topic->id);
    if (old == topic.get()) continue;
    for (const PartitionInfo& info : topic->partitions) {
      if (info.shard != here_.shard.id()) continue;
      if (Partition* partition = find(topic->id, info.index)) {
        partition->set_config(topic->log_config);
      } else if (auto opened = open(*topic, info, found); !opened) {
        return opened;
      }
    }
  }
  applied_ = std::move(next);
  return {};
}

Result<void, std::string> PartitionSet::open(const TopicInfo& topic, const PartitionInfo& info,
                                             const FoundNames& found) {
  storage::TopicPartition id{topic.name, info.index};
  auto partition =
      std::make_unique<Partition>(id, topic.id, info.leader_epoch, /*always_synced=*/topic.internal);
  storage::LogConfig config = Partition::effective(topic.log_config, topic.internal);
  if (found.contains(id.directory_name())) {
    auto log = here_.log_dir.load_log(here_.storage, *partition, id, config);
    if (!log) log_error("{} is offline: {}", id.directory_name(), log.error());
    partition->attach(log ? std::move(*log) : offline(*partition, config), config);
  } else if (here_.log_dir.durable_offset(topic.id, info.index) > 0) {
    // Nothing in this process creates what was there before it.
    log_error("{} is offline: its directory is not there, although it held records on stable storage",
              id.directory_name());
    partition->attach(offline(*partition, config), config);
  } else {
    auto log = here_.log_dir.create_log(here_.storage, *partition, id, topic.id, config);
    if (!log)
      return std::unexpected("cannot create the log of " + id.directory_name() + ": " +
                             to_string(log.error()));
    partition->attach(std::move(*log), config);
  }
  partitions_.emplace(Key{topic.id, info.index}, std::move(partition));
  return {};
}

std::unique_ptr<storage::Log> PartitionSet::offline(Partition& partition,
                                                    const storage::LogConfig& config) {
  return here_.log_dir.offline_log(here_.storage, partition, partition.id(), partition.topic_id(), config);
}

void PartitionSet::remove(const TopicInfo& topic) {
  for (const PartitionInfo& info : topic.partitions) {
    auto found = partitions_.find(Key{topic.id, info.index});
    if (found == partitions_.end()) continue;
    std::unique_ptr<Partition> partition = std::move(found->second);
    partitions_.erase(found);
    partition->retire(proto::ErrorCode::kUnknownTopicOrPartition);
    here_.log_dir.delete_log(here_.storage, partition->release_log(), partition->id());
  }
}

std::vector<std::string> PartitionSet::close_all() {
  std::vector<std::string> failures;
  for (auto& [key, partition] : partitions_) {
    // Closed first: it writes what is queued, and the bytes are there until their waiter is told.
    if (auto closed = partition->log().close(); !closed)
      failures.push_back(partition->id().directory_name() + ": " + to_string(closed.error()));
    partition->retire(proto::ErrorCode::kNotLeaderOrFollower);
  }
  return failures;
}

}  // namespace pelton::broker
