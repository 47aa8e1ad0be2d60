#include "broker/group/group_shard.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "broker/broker_shard.h"
#include "broker/catalog/internal_topics.h"
#include "broker/coordinator/partition_log.h"
#include "broker/group/group_lookup.h"
#include "broker/partition_set.h"
#include "reactor/base/log.h"

namespace pelton::broker::group {

using coordinator::CoordinatorPartition;
using proto::ErrorCode;

namespace {

// What is loaded in one turn at most: other work goes on between the turns.
constexpr size_t kMostLoadBytes = size_t{1} << 20;

// A shard's part of what groups may take: when the configuration does not say, of an eighth of the machine's
// memory.
size_t memory_limit(const BrokerConfig& config, size_t shards) {
  constexpr size_t kLeast = size_t{1} << 20;
  size_t bytes = static_cast<size_t>(std::max<int64_t>(config.groups_max_bytes, 0));
  if (config.groups_max_bytes < 0) {
    bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
            static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 8;
  }
  return std::max(bytes / shards, kLeast);
}

}  // namespace

GroupShard::GroupShard(BrokerShard& here)
    : here_(here),
      config_(GroupConfig::of(here.config)),
      write_options_{.codec = static_cast<proto::Codec>(here.config.offsets_topic_compression_codec),
                     .timeout_ms = here.config.offsets_commit_timeout_ms},
      load_bytes_(std::min(static_cast<size_t>(here.config.offsets_load_buffer_size), kMostLoadBytes)),
      environment_(here.shard.loop()),
      memory_(memory_limit(here.config, here.shard.count()), this) {}

GroupShard::~GroupShard() = default;

GroupShard::Coordinator* GroupShard::find(Uuid topic_id, int32_t index) {
  auto found = std::ranges::find_if(coordinators_, [&](const auto& one) {
    return one->topic_id == topic_id && one->index == index;
  });
  return found == coordinators_.end() ? nullptr : found->get();
}

GroupShard::Found GroupShard::find(std::string_view group_id) {
  auto place = coordinator_place(*here_.catalog, group_id);
  Coordinator* found = place && !stopped_ ? find(place->topic_id, place->partition) : nullptr;
  if (found == nullptr) return {.error = ErrorCode::kNotCoordinator};
  ErrorCode error = found->runtime.error();
  if (error != ErrorCode::kNone) return {.error = error};
  return {.coordinator = &machine_of(*found), .writer = &found->runtime};
}

void GroupShard::on_catalog_applied(BrokerShard& here) {
  if (stopped_) return;
  const TopicInfo* topic = here.catalog->find(kOffsetsTopic);
  for (size_t i = coordinators_.size(); i-- > 0;) {
    Coordinator& one = *coordinators_[i];
    if (topic == nullptr || topic->id != one.topic_id) drop(one);
  }
  if (topic != nullptr) add_new(*topic);
  if (applied_ && !here.catalog->changes_since(applied_.get()).removed.empty()) {
    // A coordinator that loads looks for itself when it has loaded.
    for (auto& one : coordinators_) {
      if (one->runtime.state() == CoordinatorPartition::State::kActive)
        machine_of(*one).topics_deleted();
    }
  }
  applied_ = here.catalog;
}

void GroupShard::add_new(const TopicInfo& topic) {
  for (const PartitionInfo& info : topic.partitions) {
    if (info.shard != here_.shard.id() || find(topic.id, info.index) != nullptr) continue;
    Partition* partition = here_.partitions->find(topic.id, info.index);
    // What a partition that is offline holds nobody can say.
    if (partition == nullptr || partition->log().offline()) continue;
    auto log = std::make_unique<coordinator::PartitionLog>(*partition);
    coordinators_.push_back(
        std::make_unique<Coordinator>(*this, topic.id, info.index, std::move(log)));
    to_load_.push_back(&coordinators_.back()->runtime);
  }
  load_more();
}

void GroupShard::drop(Coordinator& coordinator) {
  coordinator.runtime.unload(ErrorCode::kNotCoordinator);
  std::erase(to_flush_, &coordinator.runtime);
  std::erase(to_load_, &coordinator.runtime);
  std::erase_if(coordinators_, [&](const auto& one) { return one.get() == &coordinator; });
}

bool GroupShard::exists(std::string_view name, Uuid id) const {
  const TopicInfo* topic = here_.catalog->find(name);
  return topic != nullptr && (id.is_zero() || topic->id == id);
}

void GroupShard::memory_is_short() {
  uint64_t passed_over = 0;
  if (!short_log_.allow(environment_.now_ns(), passed_over)) return;
  log_warn("groups take {} bytes of memory on shard {}, the limit is {} (pelton.groups.max.bytes): new members "
           "and offsets are turned away ({} more times in the second before)",
           memory_.used(), here_.shard.id(), memory_.limit(), passed_over);
  for (auto& one : coordinators_) {
    if (one->runtime.state() == CoordinatorPartition::State::kActive) machine_of(*one).relieve();
  }
}

GroupShard::Listed GroupShard::list_from(int32_t index) {
  auto found = std::ranges::lower_bound(coordinators_, index, {}, [](const auto& one) { return one->index; });
  if (found == coordinators_.end()) return {};
  Coordinator& one = **found;
  bool active = one.runtime.state() == CoordinatorPartition::State::kActive;
  return {.index = one.index,
          .error = one.runtime.error(),
          .coordinator = active ? &machine_of(one) : nullptr};
}

void GroupShard::stop() {
  stopped_ = true;
  to_load_.clear();
  to_flush_.clear();
  for (auto& one : coordinators_) one->runtime.unload(ErrorCode::kNotCoordinator);
}

std::unique_ptr<coordinator::StateMachine> GroupShard::make(coordinator::RecordWriter& writer) {
  return std::make_unique<GroupCoordinator>(config_, environment_, writer, memory_, *this);
}

void GroupShard::wants_flush(CoordinatorPartition& partition) {
  if (std::ranges::find(to_flush_, &partition) == to_flush_.end()) to_flush_.push_back(&partition);
  here_.shard.loop().at_turn_end(flush_end_);
}

void GroupShard::flush_all() {
  std::vector<CoordinatorPartition*> now;
  std::swap(now, to_flush_);
  for (CoordinatorPartition* partition : now) partition->flush();
  now.clear();
  if (to_flush_.empty()) std::swap(now, to_flush_);
}

void GroupShard::wants_reload(CoordinatorPartition& partition) {
  if (stopped_) return;
  if (std::ranges::find(to_load_, &partition) == to_load_.end()) to_load_.push_back(&partition);
  load_more();
}

void GroupShard::load_more() {
  if (to_load_.empty() || load_sent_) return;
  load_sent_ = true;
  here_.shard.send(here_.shard.id(), load_);
}

void GroupShard::load_some(Shard&) {
  load_sent_ = false;
  size_t budget = load_bytes_;
  while (budget > 0 && !to_load_.empty()) {
    if (load_slice(*to_load_.front(), budget)) to_load_.erase(to_load_.begin());
  }
  load_more();
}

bool GroupShard::load_slice(CoordinatorPartition& partition, size_t& budget) {
  if (partition.state() == CoordinatorPartition::State::kNotLoaded && !partition.start_loading()) {
    return true;  // asks again when its last write has ended
  }
  if (!partition.load_slice(budget)) return false;
  if (partition.state() == CoordinatorPartition::State::kFailed) {
    log_error("A partition of {} cannot be loaded, its groups have no coordinator: {}",
              kOffsetsTopic, partition.failure());
  }
  return true;
}

}  // namespace pelton::broker::group
