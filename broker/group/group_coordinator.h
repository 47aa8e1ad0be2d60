// GroupCoordinator: the state machine of one partition of __consumer_offsets: classic groups and
// committed offsets. Testable without network and log: plain structs in, records and answers out.
//
// Owner: the coordinator partition, on its shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "broker/coordinator/state_machine.h"
#include "broker/group/classic_groups.h"
#include "broker/group/group_config.h"
#include "broker/group/offset_store.h"

namespace pelton::broker::group {

// One partition of an OffsetCommit; topics were checked against the catalog before.
struct OffsetCommitPartition {
  std::string_view topic;
  Uuid topic_id;  // zero: the client named the topic
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

class GroupCoordinator final : public coordinator::StateMachine {
 public:
  GroupCoordinator(const GroupConfig& config, coordinator::Environment& environment,
                   coordinator::RecordWriter& writer);

  ClassicGroups& groups() { return groups_; }
  const OffsetStore& offsets() const { return offsets_; }

  // An error of the whole commit is returned, `then` is not called. Otherwise each partition has
  // its error code, and `then` is told when what could be committed is.
  proto::ErrorCode commit_offsets(const OffsetCommit& commit, coordinator::Continuation& then);
  // Writes tombstones for what has expired, and for groups that are left with nothing.
  void expire_offsets();
  // Topics are gone: so are the offsets of their groups.
  void topics_deleted(std::span<const std::string_view> topics);

  // --- coordinator::StateMachine ---
  bool replay(const coordinator::ReplayedRecord& record) override;
  void replay_transaction_end(int64_t producer_id, bool committed) override;
  void loaded() override;
  void unloaded(proto::ErrorCode error) override;

 private:
  // group_replay.cc
  bool replay_offset(const coordinator::ReplayedRecord& record, int16_t type);
  bool replay_group(const coordinator::ReplayedRecord& record);

  // group_offsets.cc
  proto::ErrorCode check_commit(const OffsetCommit& commit) const;
  // Whether no offset is left that keeps the group.
  bool expire_group_offsets(const ClassicGroup& group, int64_t now_ms);
  void expiry_due();
  void start_expiry_timer();

  const GroupConfig& config_;
  coordinator::Environment& environment_;
  coordinator::RecordWriter& writer_;
  ClassicGroups groups_;
  OffsetStore offsets_;
  RecordBuffer records_;
  Timer expiry_timer_ = Timer::bind<&GroupCoordinator::expiry_due>(this);
};

}  // namespace pelton::broker::group
