#include "broker/catalog/snapshot.h"

namespace pelton::broker {

const TopicInfo* CatalogSnapshot::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

const TopicInfo* CatalogSnapshot::find(Uuid id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.get();
}

const PartitionInfo* CatalogSnapshot::find_partition(std::string_view topic, int32_t index) const {
  const TopicInfo* info = find(topic);
  if (info == nullptr || index < 0 || static_cast<size_t>(index) >= info->partitions.size()) {
    return nullptr;
  }
  return &info->partitions[static_cast<size_t>(index)];
}

TopicChanges CatalogSnapshot::changes_since(const CatalogSnapshot* before) const {
  if (before == nullptr || before != previous_) return compare(before);
  TopicChanges changes;
  for (const auto& topic : changed_) changes.changed.push_back(topic.get());
  for (const auto& topic : removed_) changes.removed.push_back(topic.get());
  return changes;
}

TopicChanges CatalogSnapshot::compare(const CatalogSnapshot* before) const {
  TopicChanges changes;
  for (const auto& [name, topic] : by_name_) {
    const TopicInfo* old = before == nullptr ? nullptr : before->find(topic->id);
    if (old != topic.get()) changes.changed.push_back(topic.get());
  }
  if (before == nullptr) return changes;
  for (const auto& [name, topic] : before->by_name_)
    if (find(topic->id) == nullptr) changes.removed.push_back(topic.get());
  return changes;
}

}  // namespace pelton::broker
