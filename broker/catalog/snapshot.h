// CatalogSnapshot: what the cluster's metadata says at one metadata offset; immutable, shared by every
// shard. Made only by replaying metadata records (catalog/replay.h); the writer publishes new ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/broker_config.h"
#include "broker/config/config_resource.h"
#include "reactor/base/uuid.h"
#include "reactor/shard.h"
#include "storage/log_config.h"

namespace pelton::broker {

// What only a cluster of several nodes says of a partition.
struct PartitionExtra {
  std::vector<int32_t> removing_replicas;
  std::vector<int32_t> adding_replicas;
  std::vector<int32_t> eligible_leader_replicas;
  std::vector<int32_t> last_known_elr;
  std::vector<Uuid> directories;  // of all replicas
  int8_t leader_recovery_state = 0;
};

struct PartitionInfo {
  int32_t index = 0;
  int32_t leader = -1;           // broker id as persisted
  int32_t leader_epoch = 0;
  int32_t partition_epoch = 0;
  std::vector<int32_t> replicas;
  std::vector<int32_t> isr;
  Uuid directory;                // the log directory's id
  std::shared_ptr<const PartitionExtra> extra;  // nullptr: nothing more is said
  ShardId shard = 0;             // not persisted: placement of this process
};

struct TopicInfo {
  std::string name;
  Uuid id;
  bool internal = false;         // __consumer_offsets, __transaction_state, ...
  std::vector<PartitionInfo> partitions;              // by index
  ConfigTexts config;                                 // overrides set on the topic
  storage::LogConfig log_config;                      // overrides over the broker's defaults
};

// The topics in which a snapshot differs from an older one. They live as long as both snapshots do.
struct TopicChanges {
  std::vector<const TopicInfo*> changed;  // new ones included, as they are now
  std::vector<const TopicInfo*> removed;  // as they were; a name that came again under another id is in both
};

class CatalogSnapshot {
 public:
  // What is other than in `before` (null: nothing was there). Costs as much as has changed when `before` is the
  // snapshot that was made right before this one, else a look at every topic.
  TopicChanges changes_since(const CatalogSnapshot* before) const;
  const TopicInfo* find(std::string_view name) const;
  const TopicInfo* find(Uuid id) const;
  const PartitionInfo* find_partition(std::string_view topic, int32_t index) const;
  // Sorted by name.
  const std::map<std::string, std::shared_ptr<const TopicInfo>, std::less<>>& topics() const {
    return by_name_;
  }
  // Finalized feature levels as the log says, whatever this broker can do with them.
  const std::map<std::string, int16_t, std::less<>>& features() const { return features_; }
  // The broker's configuration with what is dynamic in it; never null.
  const std::shared_ptr<const BrokerConfig>& broker_config() const { return broker_config_; }
  // What resources other than topics set themselves; never null.
  const std::shared_ptr<const ResourceConfigs>& configs() const { return configs_; }
  // The offset after the last metadata record in it.
  int64_t end_offset() const { return end_offset_; }

 private:
  friend class CatalogReplay;
  TopicChanges compare(const CatalogSnapshot* before) const;
  std::map<std::string, std::shared_ptr<const TopicInfo>, std::less<>> by_name_;
  std::map<Uuid, std::shared_ptr<const TopicInfo>> by_id_;
  std::map<std::string, int16_t, std::less<>> features_;
  std::shared_ptr<const BrokerConfig> broker_config_;
  std::shared_ptr<const ResourceConfigs> configs_;
  int64_t end_offset_ = 0;
  // The snapshot before, by its address alone: whoever compares holds one that is older than this, so an equal
  // address is the same snapshot. And what has changed since.
  const CatalogSnapshot* previous_ = nullptr;
  std::vector<std::shared_ptr<const TopicInfo>> changed_;
  std::vector<std::shared_ptr<const TopicInfo>> removed_;
};

}  // namespace pelton::broker
