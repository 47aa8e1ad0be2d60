// PartitionSet: the partitions one shard owns, found by topic id and index.
//
// Owner shard: one. Follows the catalog: apply() creates and retires what a new snapshot says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "broker/catalog/snapshot.h"
#include "broker/partition.h"

namespace pelton::broker {

struct BrokerShard;

class PartitionSet {
 public:
  explicit PartitionSet(BrokerShard& here) : here_(here) {}

  // nullptr when this shard does not own it (or it is gone).
  Partition* find(Uuid topic_id, int32_t index);

  // Brings the set to `next`: opens logs of partitions that are new here, retires removed ones, hands on
  // changed configs. After it returns, every partition of `next` that belongs here is usable.
  // Error: one sentence for the log (a directory that cannot be created or loaded).
  Result<void, std::string> apply(std::shared_ptr<const CatalogSnapshot> next);

  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [key, partition] : partitions_) visit(*partition);
  }
  size_t size() const { return partitions_.size(); }

  // Shutdown: ends every wait and closes every log; returns one sentence for each that failed.
  std::vector<std::string> close_all();

 private:
  struct Key {
    Uuid topic_id;
    int32_t index;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<Uuid>{}(key.topic_id) * 31 + static_cast<size_t>(key.index);
    }
  };

  // Names of partition directories found at start-up; empty later.
  using FoundNames = boost::unordered_flat_set<std::string>;
  Result<void, std::string> open(const TopicInfo& topic, const PartitionInfo& info,
                                 const FoundNames& found);
  // A log that stands for one that cannot be opened.
  std::unique_ptr<storage::Log> offline(Partition& partition, const storage::LogConfig& config);
  void remove(const TopicInfo& topic);

  BrokerShard& here_;
  std::shared_ptr<const CatalogSnapshot> applied_;
  boost::unordered_flat_map<Key, std::unique_ptr<Partition>, KeyHash> partitions_;
};

}  // namespace pelton::broker
