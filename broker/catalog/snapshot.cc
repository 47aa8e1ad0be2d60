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

}  // namespace pelton::broker
