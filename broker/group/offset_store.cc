#include "broker/group/offset_store.h"

#include <utility>

namespace pelton::broker::group {
namespace {

template <class Map>
auto* child(Map& map, std::string_view key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

size_t bytes_of_name(std::string_view name) {
  return kNodeBytes + sizeof(std::string) + sizeof(PartitionOffsets) + name.size();
}

}  // namespace

size_t OffsetStore::bytes_of(const CommittedOffset& offset) {
  return kNodeBytes + sizeof(CommittedOffset) + offset.metadata.size();
}

void OffsetStore::put_into(GroupOffsets& offsets, std::string_view group, std::string_view topic,
                           int32_t partition, CommittedOffset offset) {
  size_t bytes = bytes_of(offset);
  auto in_group = offsets.find(group);
  if (in_group == offsets.end()) {
    in_group = offsets.emplace(std::string(group), TopicOffsets()).first;
    bytes += bytes_of_name(group);
  }
  auto in_topic = in_group->second.find(topic);
  if (in_topic == in_group->second.end()) {
    in_topic = in_group->second.emplace(std::string(topic), PartitionOffsets()).first;
    bytes += bytes_of_name(topic);
  }
  auto [at, is_new] = in_topic->second.try_emplace(partition);
  if (!is_new) take_off_bytes(bytes_of(at->second));
  at->second = std::move(offset);
  add_bytes(bytes);
}

void OffsetStore::erase_from(GroupOffsets& offsets, std::string_view group, std::string_view topic,
                             int32_t partition) {
  auto in_group = offsets.find(group);
  if (in_group == offsets.end()) return;
  auto in_topic = in_group->second.find(topic);
  if (in_topic == in_group->second.end()) return;
  auto at = in_topic->second.find(partition);
  if (at == in_topic->second.end()) return;
  size_t bytes = bytes_of(at->second);
  in_topic->second.erase(at);
  if (in_topic->second.empty()) {
    bytes += bytes_of_name(in_topic->first);
    in_group->second.erase(in_topic);
  }
  if (in_group->second.empty()) {
    bytes += bytes_of_name(in_group->first);
    offsets.erase(in_group);
  }
  take_off_bytes(bytes);
}

void OffsetStore::put(std::string_view group, std::string_view topic, int32_t partition,
                      CommittedOffset offset) {
  put_into(offsets_, group, topic, partition, std::move(offset));
}

void OffsetStore::put_pending(int64_t producer_id, std::string_view group, std::string_view topic,
                              int32_t partition, CommittedOffset offset) {
  put_into(pending_[producer_id], group, topic, partition, std::move(offset));
}

void OffsetStore::remove(std::string_view group, std::string_view topic, int32_t partition) {
  erase_from(offsets_, group, topic, partition);
  for (auto& [producer_id, pending] : pending_) erase_from(pending, group, topic, partition);
}

void OffsetStore::end_transaction(int64_t producer_id, bool committed) {
  auto found = pending_.find(producer_id);
  if (found == pending_.end()) return;
  GroupOffsets ended = std::move(found->second);
  pending_.erase(found);
  for (auto& [group, topics] : ended) {
    size_t bytes = bytes_of_name(group);
    for (auto& [topic, partitions] : topics) {
      bytes += bytes_of_name(topic);
      for (auto& [partition, offset] : partitions) {
        bytes += bytes_of(offset);
        if (!committed) continue;
        // A plain commit made after the transactional one wins.
        const CommittedOffset* present = find(group, topic, partition);
        if (present != nullptr && present->record_offset >= offset.record_offset) continue;
        put(group, topic, partition, std::move(offset));
      }
    }
    take_off_bytes(bytes);
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
  bool has = false;
  for_each_pending(group, [&](const TopicOffsets& topics) {
    const PartitionOffsets* partitions = child(topics, topic);
    has |= partitions != nullptr && partitions->contains(partition);
  });
  return has;
}

bool OffsetStore::has_pending(std::string_view group) const {
  bool has = false;
  for_each_pending(group, [&](const TopicOffsets&) { has = true; });
  return has;
}

}  // namespace pelton::broker::group
