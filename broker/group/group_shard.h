// GroupShard: the group coordinators of one shard: one for each partition of __consumer_offsets
// that the shard owns. Creates and drops them as the catalog says, loads them a slice a turn,
// flushes them at the end of a turn.
//
// Owner shard: its own. Lifetime: the shard's partitions outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/catalog/snapshot.h"
#include "broker/coordinator/coordinator_partition.h"
#include "broker/coordinator/loop_environment.h"
#include "broker/group/group_config.h"
#include "broker/group/group_coordinator.h"
#include "reactor/base/log.h"
#include "reactor/loop.h"
#include "reactor/shard.h"

namespace pelton::broker {
struct BrokerShard;
}

namespace pelton::broker::group {

class GroupShard final : public coordinator::CoordinatorHost,
                         public coordinator::StateMachineFactory,
                         public MemoryGauge::Relief,
                         public TopicDirectory {
 public:
  explicit GroupShard(BrokerShard& here);
  ~GroupShard();

  // After the shard's partitions have followed here.catalog.
  void on_catalog_applied(BrokerShard& here);
  // Answers everything that waits; from now on every group is elsewhere.
  void stop();

  // A group's coordinator, or why it cannot answer: not here, loading, overloaded.
  struct Found {
    proto::ErrorCode error = proto::ErrorCode::kNone;
    GroupCoordinator* coordinator = nullptr;
    coordinator::RecordWriter* writer = nullptr;
  };
  Found find(std::string_view group_id);

  // The coordinator of the first partition from `index` on that this shard has; index -1: none.
  struct Listed {
    int32_t index = -1;
    proto::ErrorCode error = proto::ErrorCode::kNone;
    GroupCoordinator* coordinator = nullptr;  // nullptr unless active
  };
  Listed list_from(int32_t index);

 private:
  struct Coordinator {
    Coordinator(GroupShard& shard, Uuid its_topic, int32_t its_index,
                std::unique_ptr<coordinator::CoordinatorLog> log)
        : topic_id(its_topic),
          index(its_index),
          runtime(shard, shard.environment_, shard, std::move(log), shard.write_options_) {}
    Uuid topic_id;
    int32_t index;
    coordinator::CoordinatorPartition runtime;
  };

  static GroupCoordinator& machine_of(Coordinator& coordinator) {
    return static_cast<GroupCoordinator&>(coordinator.runtime.machine());
  }
  Coordinator* find(Uuid topic_id, int32_t index);
  void add_new(const TopicInfo& topic);
  void drop(Coordinator& coordinator);

  // --- coordinator::CoordinatorHost, StateMachineFactory ---
  void wants_flush(coordinator::CoordinatorPartition& partition) override;
  void wants_reload(coordinator::CoordinatorPartition& partition) override;
  std::unique_ptr<coordinator::StateMachine> make(coordinator::RecordWriter& writer) override;
  // --- MemoryGauge::Relief, TopicDirectory ---
  void memory_is_short() override;
  bool exists(std::string_view name, Uuid id) const override;

  void flush_all();
  void load_more();
  void load_some(Shard& shard);
  // Whether the partition is finished.
  bool load_slice(coordinator::CoordinatorPartition& partition, size_t& budget);

  BrokerShard& here_;
  const GroupConfig config_;
  const coordinator::WriteOptions write_options_;
  const size_t load_bytes_;  // in one turn
  coordinator::LoopEnvironment environment_;
  MemoryGauge memory_;
  LogLimiter short_log_;
  std::vector<std::unique_ptr<Coordinator>> coordinators_;  // by index
  std::shared_ptr<const CatalogSnapshot> applied_;
  std::vector<coordinator::CoordinatorPartition*> to_flush_;
  std::vector<coordinator::CoordinatorPartition*> to_load_;
  TurnEnd flush_end_ = TurnEnd::bind<&GroupShard::flush_all>(this, kPhaseWrite);
  Message load_ = Message::bind<&GroupShard::load_some>(this);
  bool load_sent_ = false;
  bool stopped_ = false;
};

}  // namespace pelton::broker::group
