#include "broker/metrics/shard_sample.h"

#include "broker/fetch/fetch_session.h"
#include "broker/group/group_shard.h"
#include "broker/net/connection_set.h"
#include "broker/partition_set.h"

namespace pelton::broker {
namespace {

// Of one turn: a partition takes about 100 ns, a group some microseconds.
constexpr size_t kPartitionsPerSlice = 2'000;
constexpr size_t kGroupsPerSlice = 50;

}  // namespace

void ShardSampler::begin(BrokerShard& here) {
  const LoopCounters& loop = here.shard.loop().counters();
  sample_.shard = here.shard.id();
  sample_.counters = here.counters;
  sample_.storage = storage::counters(here.storage);
  sample_.messages_sent = here.shard.messages_sent();
  sample_.turns = loop.turns;
  sample_.stalled_turns = loop.stalled_turns;
  sample_.longest_turn_ns = loop.longest_turn_ns;
  sample_.open_connections = here.connections->open_connections();
  sample_.requests_in_flight = here.requests_in_flight;
  sample_.unsent_bytes = here.unsent_bytes;
  sample_.request_memory_used = here.connections->memory().used_bytes();
  sample_.request_memory_limit = here.connections->memory().limit_bytes();
  if (here.connection_limits != nullptr) {
    sample_.listeners = here.connection_limits->listener_counts();
    sample_.connections_most = here.connection_limits->most();
    sample_.connections_waited = here.connection_limits->waited();
  }
  sample_.buffer_bytes_used = here.connections->buffer_bytes();
  sample_.buffer_bytes_limit = here.connections->buffer_limit_bytes();
  sample_.delayed_fetches = here.delayed_fetches;
  sample_.fetch_sessions = here.sessions->size();
  sample_.fetch_session_evictions = here.sessions->evictions();
  sample_.partition_count = here.partitions->size();
  sample_.requests = here.request_metrics.sample();
  here.partitions->for_each([&](Partition& partition) {
    if (to_visit_.size() < limits_.partitions) {
      to_visit_.emplace_back(partition.topic_id(), partition.id().partition);
    } else {
      ++sample_.left_out;
    }
  });
}

bool ShardSampler::take_slice(BrokerShard& here) { return take_partitions(here) && take_offsets(here); }

bool ShardSampler::take_partitions(BrokerShard& here) {
  for (size_t taken = 0; visited_ < to_visit_.size(); ++visited_, ++taken) {
    if (taken == kPartitionsPerSlice) return false;
    auto [topic_id, index] = to_visit_[visited_];
    Partition* partition = here.partitions->find(topic_id, index);
    if (partition == nullptr) continue;  // deleted meanwhile
    storage::Log& log = partition->log();
    sample_.partitions.push_back({.topic = partition->id().topic,
                                  .index = index,
                                  .log_start = log.log_start_offset(),
                                  .log_end = log.written_end().offset,
                                  .high_watermark = partition->high_watermark().offset,
                                  .last_stable = partition->last_stable().offset,
                                  .bytes = log.size_bytes()});
  }
  return true;
}

bool ShardSampler::take_offsets(BrokerShard& here) {
  group::GroupShard::Listed listed = here.groups->list_from(coordinator_);
  if (listed.index < 0) return true;
  auto take = [&](const group::ClassicGroup& each) {
    ++sample_.groups;
    const group::TopicOffsets* topics = listed.coordinator->offsets().find(each.id());
    if (topics == nullptr) return;
    for (const auto& [topic, partitions] : *topics) {
      for (const auto& [partition, committed] : partitions) {
        if (sample_.offsets.size() < limits_.offsets) {
          sample_.offsets.push_back({std::string(each.id()), topic, partition, committed.offset});
        } else {
          ++sample_.left_out;
        }
      }
    }
  };
  if (listed.index != coordinator_) after_group_.reset();
  coordinator_ = listed.index;
  if (listed.coordinator != nullptr)
    after_group_ = listed.coordinator->groups().visit_after(after_group_, kGroupsPerSlice, take);
  if (listed.coordinator == nullptr || !after_group_) {
    after_group_.reset();
    ++coordinator_;
  }
  return false;
}

}  // namespace pelton::broker
