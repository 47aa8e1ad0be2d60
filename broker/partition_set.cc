#include "broker/partition_set.h"

#include <algorithm>

#include <boost/unordered/unordered_flat_set.hpp>

#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

// A creation is a dozen calls on the page cache, a tenth of a millisecond together.
constexpr size_t kOpenedInATurn = 8;
// A full disk, or too many open files, lasts seconds or hours.
constexpr uint64_t kFirstRetryNs = 1'000'000'000;
constexpr uint64_t kLastRetryNs = 60'000'000'000;

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
    outcome = add(topic, info, on_disk.contains(id.directory_name()) ? Origin::kFound : Origin::kNotFound);
  });
  if (outcome) applied_ = std::move(first);
  return outcome;
}

void PartitionSet::open(std::shared_ptr<const CatalogSnapshot> next, void* owner, Opened done) {
  CHECK(!opening_, "one catalog after the other");
  here_.shard.loop().timers().cancel(retry_);
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
    auto added = add(*topic, *info, Origin::kNew);
    if (!added && opening_->outcome) opening_->outcome = added;
  }
  if (end < missing.size()) return here_.shard.send(here_.shard.id(), open_more_);
  Opening ended = std::move(*opening_);
  opening_.reset();
  incomplete_ = !ended.outcome;
  ended.done(ended.owner, std::move(ended.outcome));
}

void PartitionSet::start_retry(uint64_t delay_ns) {
  Loop& loop = here_.shard.loop();
  retry_delay_ns_ = std::min(delay_ns, kLastRetryNs);
  loop.timers().start(retry_, loop.now_ns() + retry_delay_ns_);
}

// Those that the catalog shows and that are not there. Not between open() and take_over(): open() sees to them.
void PartitionSet::on_retry() {
  if (here_.stopping) return;
  size_t made = 0;
  bool more = false;
  Result<void, std::string> outcome;
  for_each_new(*applied_, [&](const TopicInfo& topic, const PartitionInfo& info) {
    more = more || made == kOpenedInATurn;
    if (more || !outcome) return;
    outcome = add(topic, info, Origin::kNew);
    if (outcome) ++made;
  });
  if (made > 0) here_.groups->on_catalog_applied(here_);
  incomplete_ = more || !outcome;
  if (!incomplete_) return log_info("Every partition is there now");
  if (outcome) return start_retry(0);
  start_retry(retry_delay_ns_ == 0 ? kFirstRetryNs : 2 * retry_delay_ns_);
  log_error("{}; it is tried again in {} s", outcome.error(), retry_delay_ns_ / 1'000'000'000);
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
  if (incomplete_) start_retry(kFirstRetryNs);
}

Result<void, std::string> PartitionSet::add(const TopicInfo& topic, const PartitionInfo& info, Origin origin) {
  storage::TopicPartition id{topic.name, info.index};
  auto partition =
      std::make_unique<Partition>(here_.notices, id, topic.id, info.leader_epoch, /*always_synced=*/topic.internal);
  storage::LogConfig config = Partition::effective(topic.log_config, topic.internal);
  if (origin == Origin::kFound) {
    auto log = here_.log_dir.load_log(here_.storage, *partition, id, config);
    if (!log) log_error("{} is offline: {}", id.directory_name(), log.error());
    partition->attach(log ? std::move(*log) : offline(*partition, config), config);
  } else if (int64_t held = held_before(topic.id, id, origin); held > 0) {
    log_error("{} is offline: its directory is not there, although offsets up to {} were on stable storage; restore "
              "it and start again, or delete the topic",
              id.directory_name(), held);
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

// Where the partition ended on stable storage when this process began: nothing in it creates what was there before.
// Apache Kafka begins such a partition anew, empty, since it has replicas to fill it from. Here the records would be
// gone without a word, and consumers, whose offsets are beyond the end, would begin somewhere else.
int64_t PartitionSet::held_before(Uuid topic_id, const storage::TopicPartition& id, Origin origin) const {
  int64_t marked = here_.log_dir.durable_offset(topic_id, id.partition);
  // A line says whose it is by name alone: later it may be of a topic that was deleted.
  auto line = origin == Origin::kNotFound ? here_.log_dir.checkpoint_of(id) : std::nullopt;
  return std::max(marked, line ? line->recovery_point : 0);
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
  here_.shard.loop().timers().cancel(retry_);
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
