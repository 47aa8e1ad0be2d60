#include "broker/group/offset_store.h"

#include <utility>

namespace pelton::broker::group {
namespace {

template <class Map>
auto* child(Map& map, std::string_view key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

template <class Map>
auto& child_or_new(Map& map, std::string_view key) {
  auto found = map.find(key);
  return found != map.end() ? found->second : map[std::string(key)];
}

void erase(GroupOffsets& offsets, std::string_view group, std::string_view topic,
           int32_t partition) {
  auto in_group = offsets.find(group);
  if (in_group == offsets.end()) return;
  auto in_topic = in_group->second.find(topic);
  if (in_topic == in_group->second.end()) return;
  in_topic->second.erase(partition);
  if (in_topic->second.empty()) in_group->second.erase(in_topic);
  if (in_group->second.empty()) offsets.erase(in_group);
}

}  // namespace

void OffsetStore::put(std::string_view group, std::string_view topic, int32_t partition,
                      CommittedOffset offset) {
  child_or_new(child_or_new(offsets_, group), topic)[partition] = std::move(offset);
}

void OffsetStore::put_pending(int64_t producer_id, std::string_view group, std::string_view topic,
                              int32_t partition, CommittedOffset offset) {
  GroupOffsets& pending = pending_[producer_id];
  child_or_new(child_or_new(pending, group), topic)[partition] = std::move(offset);
}

void OffsetStore::remove(std::string_view group, std::string_view topic, int32_t partition) {
  erase(offsets_, group, topic, partition);
  for (auto& [producer_id, pending] : pending_) erase(pending, group, topic, partition);
}

void OffsetStore::end_transaction(int64_t producer_id, bool committed) {
  auto found = pending_.find(producer_id);
  if (found == pending_.end()) return;
  GroupOffsets ended = std::move(found->second);
  pending_.erase(found);
  if (!committed) return;
  for (auto& [group, topics] : ended) {
    for (auto& [topic, partitions] : topics) {
      for (auto& [partition, offset] : partitions) {
        // A plain commit made after the transactional one wins.
        const CommittedOffset* present = find(group, topic, partition);
        if (present != nullptr && present->record_offset >= offset.record_offset) continue;
        put(group, topic, partition, std::move(offset));
      }
    }
  }
}

const CommittedOffset* OffsetStore::find(std::string_view group, std::string_view topic,
                                         int32_t partition) const {
  const TopicOffsets* topics = find(group);
  const PartitionOffsets* partitions = topics != nullptr ? child(*topics, topic) : nullptr;
  if (partitions == nullptr) return nullptr;
  auto found = partitions->find(partition);
  return found == partitions->end() ? nullptr : &found->second;
}

const TopicOffsets* OffsetStore::find(std::string_view group) const {
  return child(offsets_, group);
}

bool OffsetStore::has_pending(std::string_view group, std::string_view topic,
                              int32_t partition) const {
  for (const auto& [producer_id, pending] : pending_) {
    const TopicOffsets* topics = child(pending, group);
    const PartitionOffsets* partitions = topics != nullptr ? child(*topics, topic) : nullptr;
    if (partitions != nullptr && partitions->contains(partition)) return true;
  }
  return false;
}

bool OffsetStore::has_pending(std::string_view group) const {
  for (const auto& [producer_id, pending] : pending_) {
    if (pending.contains(group)) return true;
  }
  return false;
}

}  // namespace pelton::broker::group
