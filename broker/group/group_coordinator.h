// GroupCoordinator: the state machine of one partition of __consumer_offsets: classic groups and
// committed offsets. Testable without network and log: plain structs in, records and answers out.
// group_replay.cc, group_offsets.cc, group_deletion.cc and group_sweep.cc hold the parts.
//
// Owner: the coordinator partition, on its shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/coordinator/state_machine.h"
#include "broker/group/classic_groups.h"
#include "broker/group/group_config.h"
#include "broker/group/memory_gauge.h"
#include "broker/group/offset_store.h"

namespace pelton::broker::group {

// One partition of an OffsetCommit; topics were checked against the catalog before.
struct OffsetCommitPartition {
  std::string_view topic;
  Uuid topic_id;
  int32_t partition = 0;
  int64_t offset = 0;
  int32_t leader_epoch = -1;
  std::optional<std::string_view> metadata;
  int16_t* error_code = nullptr;  // where the partition's answer goes
};

struct OffsetCommit {
  int16_t version = 0;
  std::string_view group_id;
  int32_t generation = -1;
  std::string_view member_id;
  std::optional<std::string_view> instance_id;
  int64_t retention_ms = -1;
  std::span<const OffsetCommitPartition> partitions;
};

// One partition of an OffsetDelete.
struct OffsetDeletePartition {
  std::string_view topic;
  int32_t partition = 0;
  int16_t* error_code = nullptr;
};

// Which topics there are.
class TopicDirectory {
 public:
  // False: an offset that was committed for this topic is of no use any more. `id` may be zero.
  virtual bool exists(std::string_view name, Uuid id) const = 0;

 protected:
  ~TopicDirectory() = default;
};

class GroupCoordinator final : public coordinator::StateMachine, public GroupOwner {
 public:
  // All outlive it.
  GroupCoordinator(const GroupConfig& config, coordinator::Environment& environment,
                   coordinator::RecordWriter& writer, MemoryGauge& memory,
                   const TopicDirectory& directory);

  ClassicGroups& groups() { return groups_; }
  const OffsetStore& offsets() const { return offsets_; }

  // An error of the whole commit is returned, `then` is not called. Otherwise each partition has
  // its error code, and `then` is told when what could be committed is.
  proto::ErrorCode commit_offsets(const OffsetCommit& commit, coordinator::Continuation& then);

  // --- deletion. With kNone tombstones are written; whoever answers waits for what is pending ---
  // kGroupIdNotFound, kNonEmptyGroup.
  proto::ErrorCode delete_group(std::string_view group_id);
  // An error of the whole, or each partition's where it says.
  proto::ErrorCode delete_offsets(std::string_view group_id,
                                  std::span<const OffsetDeletePartition> partitions);

  // --- sweeps: looks at all groups, some of them each millisecond ---
  // Offsets that have expired, and groups that are left with nothing.
  void expire_offsets() { start_sweep(Sweep::kExpiry); }
  // Topics are gone: so are, a little later, the offsets of their groups.
  void topics_deleted() { start_sweep(Sweep::kTopics); }
  // Memory is short: groups without members and offsets go now.
  void relieve() { start_sweep(Sweep::kUnused); }

  // --- coordinator::StateMachine ---
  bool replay(const coordinator::ReplayedRecord& record) override;
  void replay_transaction_end(int64_t producer_id, bool committed) override;
  void loaded() override;
  void unloaded(proto::ErrorCode error) override;

  static constexpr size_t kGroupsPerSlice = 200;

 private:
  // --- GroupOwner ---
  void group_unused(const ClassicGroup& group) override;

  // group_replay.cc
  bool replay_offset(const coordinator::ReplayedRecord& record, int16_t type);
  bool replay_group(const coordinator::ReplayedRecord& record);

  // group_offsets.cc
  proto::ErrorCode check_commit(const OffsetCommit& commit) const;
  bool memory_admits(const OffsetCommit& commit);
  bool add_commit_records(const OffsetCommit& commit);

  // group_sweep.cc
  enum Sweep : unsigned { kExpiry = 1, kTopics = 2, kUnused = 4 };
  void start_sweep(Sweep what);
  void sweep_slice();
  void sweep_group(const ClassicGroup& group, int64_t now_ms);
  // Whether no offset is left that keeps the group.
  bool expire_group_offsets(const ClassicGroup& group, int64_t now_ms);
  void forget_lost_topics(const ClassicGroup& group);
  void forget_lost_topics(const ClassicGroup& group, const TopicOffsets& topics);
  void expiry_due();
  void start_expiry_timer();

  const GroupConfig& config_;
  coordinator::Environment& environment_;
  coordinator::RecordWriter& writer_;
  MemoryGauge& memory_;
  const TopicDirectory& directory_;
  ClassicGroups groups_;
  OffsetStore offsets_;
  RecordBuffer records_;
  Timer expiry_timer_ = Timer::bind<&GroupCoordinator::expiry_due>(this);

  // The sweep that is under way; what is asked for meanwhile follows it.
  unsigned sweeping_ = 0;
  unsigned wanted_ = 0;
  std::optional<std::string> swept_to_;
  Timer sweep_timer_ = Timer::bind<&GroupCoordinator::sweep_slice>(this);
};

}  // namespace pelton::broker::group
