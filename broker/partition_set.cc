#include "broker/partition_set.h"

#include <algorithm>

#include <boost/unordered/unordered_flat_set.hpp>

#include "broker/broker_shard.h"
#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

// A creation is a dozen calls on the page cache, a tenth of a millisecond together.
constexpr size_t kOpenedInATurn = 8;

}  // namespace

Partition* PartitionSet::find(Uuid topic_id, int32_t index) {
  auto found = partitions_.find(Key{topic_id, index});
  return found == partitions_.end() ? nullptr : found->second.get();
}

template <class Visit>
void PartitionSet::for_each_new(const CatalogSnapshot& next, Visit&& visit) {
  // All of them when the last open() failed.
  for (const TopicInfo* topic : next.changes_since(incomplete_ ? nullptr : applied_.get()).changed) {
    for (const PartitionInfo& info : topic->partitions) {
      if (info.shard == here_.shard.id() && find(topic->id, info.index) == nullptr) visit(*topic, info);
    }
  }
}

Result<void, std::string> PartitionSet::load(std::shared_ptr<const CatalogSnapshot> first) {
  boost::unordered_flat_set<std::string> on_disk;
  for (const auto& each : here_.log_dir.partitions()) on_disk.insert(each.id.directory_name());
  Result<void, std::string> outcome;
  for_each_new(*first, [&](const TopicInfo& topic, const PartitionInfo& info) {
    if (!outcome) return;
    storage::TopicPartition id{topic.name, info.index};
    outcome = add(topic, info, on_disk.contains(id.directory_name()));
  });
  if (outcome) applied_ = std::move(first);
  return outcome;
}

void PartitionSet::open(std::shared_ptr<const CatalogSnapshot> next, void* owner, Opened done) {
  CHECK(!opening_, "one catalog after the other");
  opening_ = Opening{std::move(next), {}, 0, owner, done, {}};
  for_each_new(*opening_->next, [&](const TopicInfo& topic, const PartitionInfo& info) {
    opening_->missing.emplace_back(&topic, &info);
  });
  here_.shard.send(here_.shard.id(), open_more_);
}

void PartitionSet::open_some(Shard&) {
  if (!opening_) return;  // the broker stops
  const auto& missing = opening_->missing;
  size_t end = std::min(missing.size(), opening_->at + kOpenedInATurn);
  for (; opening_->at < end; ++opening_->at) {
    auto [topic, info] = missing[opening_->at];
    auto added = add(*topic, *info, /*on_disk=*/false);
    if (!added && opening_->outcome) opening_->outcome = added;
  }
  if (end < missing.size()) return here_.shard.send(here_.shard.id(), open_more_);
  Opening ended = std::move(*opening_);
  opening_.reset();
  incomplete_ = !ended.outcome;
  ended.done(ended.owner, std::move(ended.outcome));
}

void PartitionSet::take_over(std::shared_ptr<const CatalogSnapshot> next) {
  TopicChanges changes = next->changes_since(applied_.get());
  for (const TopicInfo* topic : changes.removed) remove(*topic);
  for (const TopicInfo* topic : changes.changed) {
    for (const PartitionInfo& info : topic->partitions) {
      if (Partition* partition = find(topic->id, info.index)) partition->set_config(topic->log_config);
    }
  }
  applied_ = std::move(next);
}

Result<void, std::string> PartitionSet::add(const TopicInfo& topic, const PartitionInfo& info,
                                            bool on_disk) {
  storage::TopicPartition id{topic.name, info.index};
  auto partition =
      std::make_unique<Partition>(id, topic.id, info.leader_epoch, /*always_synced=*/topic.internal);
  storage::LogConfig config = Partition::effective(topic.log_config, topic.internal);
  if (on_disk) {
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
  opening_.reset();
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
