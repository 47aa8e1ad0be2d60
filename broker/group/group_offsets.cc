// Committing offsets, and taking them away: expiry and deleted topics.
#include <algorithm>
#include <utility>
#include <vector>

#include "broker/group/group_coordinator.h"
#include "broker/group/java_string.h"

namespace pelton::broker::group {

using proto::ErrorCode;

namespace {

constexpr int16_t kGroupNotFoundFrom = 9;

}  // namespace

ErrorCode GroupCoordinator::check_commit(const OffsetCommit& commit) const {
  const ClassicGroup* group = groups_.find(commit.group_id);
  if (group != nullptr) {
    return group->validate_offset_commit(commit.member_id, commit.instance_id, commit.generation);
  }
  if (commit.generation < 0) return ErrorCode::kNone;  // replaying the commit makes a simple group
  return commit.version >= kGroupNotFoundFrom ? ErrorCode::kGroupIdNotFound
                                              : ErrorCode::kIllegalGeneration;
}

ErrorCode GroupCoordinator::commit_offsets(const OffsetCommit& commit,
                                           coordinator::Continuation& then) {
  ErrorCode error = check_commit(commit);
  if (error != ErrorCode::kNone) return error;
  if (ClassicGroup* group = groups_.find(commit.group_id))
    groups_.keep_alive(*group, commit.member_id);

  int64_t now = environment_.wall_ms();
  auto longest = static_cast<size_t>(config_.offset_metadata_max_bytes);
  records_.clear();
  for (const OffsetCommitPartition& partition : commit.partitions) {
    std::string_view metadata = partition.metadata.value_or("");
    if (metadata.size() > longest && utf16_length(metadata) > longest) {
      *partition.error_code = proto::wire(ErrorCode::kOffsetMetadataTooLarge);
      continue;
    }
    *partition.error_code = proto::wire(ErrorCode::kNone);
    CommittedOffset offset{.offset = partition.offset,
                           .leader_epoch = partition.leader_epoch,
                           .metadata = std::string(metadata),
                           .commit_timestamp = now,
                           .expire_timestamp = {},
                           .topic_id = partition.topic_id};
    if (commit.retention_ms != -1)
      offset.expire_timestamp = now + std::min(commit.retention_ms, INT64_MAX - now);
    add_offset_commit(records_, commit.group_id, partition.topic, partition.partition, offset);
  }
  writer_.write(records_, coordinator::Replay::kYes, &then);
  return ErrorCode::kNone;
}

void GroupCoordinator::expire_offsets() {
  int64_t now = environment_.wall_ms();
  records_.clear();
  groups_.for_each([&](const ClassicGroup& group) {
    bool nothing_left = expire_group_offsets(group, now);
    // An id that was given out and not used yet keeps its group, too.
    if (nothing_left && group.is(GroupState::kEmpty) && group.pending_count() == 0) {
      add_group_tombstone(records_, group.id());
    }
  });
  writer_.write_each(records_);
}

bool GroupCoordinator::expire_group_offsets(const ClassicGroup& group, int64_t now_ms) {
  const TopicOffsets* topics = offsets_.find(group.id());
  if (topics == nullptr) return !offsets_.has_pending(group.id());

  // From when the retention counts. A simple group: the commit. A group without members: since it
  // is empty. A consumer group with members: the commit, for topics it no longer subscribes to. Any
  // other group keeps its offsets.
  bool counts_from_state = group.protocol_type() && group.is(GroupState::kEmpty);
  bool counts_from_commit =
      !group.protocol_type() || (group.uses_consumer_protocol() && group.subscribed_topics() &&
                                 group.is(GroupState::kStable));
  if (!counts_from_state && !counts_from_commit) return false;

  bool nothing_left = true;
  for (const auto& [topic, partitions] : *topics) {
    if (group.subscribed_to(topic)) {
      nothing_left = false;
      continue;
    }
    for (const auto& [partition, offset] : partitions) {
      int64_t since = counts_from_state ? group.state_timestamp().value_or(offset.commit_timestamp)
                                        : offset.commit_timestamp;
      bool expired = offset.expire_timestamp ? now_ms >= *offset.expire_timestamp
                                             : now_ms - since >= config_.offsets_retention_ms;
      if (expired && !offsets_.has_pending(group.id(), topic, partition)) {
        add_offset_tombstone(records_, group.id(), topic, partition);
      } else {
        nothing_left = false;
      }
    }
  }
  return nothing_left && !offsets_.has_pending(group.id());
}

void GroupCoordinator::topics_deleted(std::span<const std::string_view> topics) {
  records_.clear();
  for (const auto& [group, offsets] : offsets_.all()) {
    for (std::string_view topic : topics) {
      auto found = offsets.find(topic);
      if (found == offsets.end()) continue;
      for (const auto& [partition, offset] : found->second) {
        add_offset_tombstone(records_, group, topic, partition);
      }
    }
  }
  writer_.write_each(records_);
}

}  // namespace pelton::broker::group
