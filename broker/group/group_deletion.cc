// Deleting groups, and single offsets of groups, on request.
#include "broker/group/group_coordinator.h"

namespace pelton::broker::group {

using proto::ErrorCode;

namespace {

void add_tombstones(RecordBuffer& records, std::string_view group_id, const TopicOffsets& topics) {
  for (const auto& [topic, partitions] : topics) {
    for (const auto& [partition, offset] : partitions)
      add_offset_tombstone(records, group_id, topic, partition);
  }
}

}  // namespace

ErrorCode GroupCoordinator::delete_group(std::string_view group_id) {
  const ClassicGroup* group = groups_.find(group_id);
  if (group == nullptr) return ErrorCode::kGroupIdNotFound;
  if (!group->is(GroupState::kEmpty)) return ErrorCode::kNonEmptyGroup;
  records_.clear();
  if (const TopicOffsets* topics = offsets_.find(group_id))
    add_tombstones(records_, group_id, *topics);
  // Replaying a tombstone takes the offset of open transactions, too.
  offsets_.for_each_pending(group_id, [&](const TopicOffsets& topics) {
    add_tombstones(records_, group_id, topics);
  });
  // The group last: what a crash leaves of it can be deleted again.
  add_group_tombstone(records_, group_id);
  return writer_.write_each(records_) ? ErrorCode::kNone : ErrorCode::kUnknownServerError;
}

ErrorCode GroupCoordinator::delete_offsets(std::string_view group_id,
                                           std::span<const OffsetDeletePartition> partitions) {
  const ClassicGroup* group = groups_.find(group_id);
  if (group == nullptr) return ErrorCode::kGroupIdNotFound;
  // What members of other protocols are about is not known.
  if (!group->is(GroupState::kEmpty) && !group->uses_consumer_protocol())
    return ErrorCode::kNonEmptyGroup;
  records_.clear();
  for (const OffsetDeletePartition& partition : partitions) {
    if (group->subscribed_to(partition.topic)) {
      *partition.error_code = proto::wire(ErrorCode::kGroupSubscribedToTopic);
      continue;
    }
    *partition.error_code = proto::wire(ErrorCode::kNone);
    bool has_offset =
        offsets_.find(group_id, partition.topic, partition.partition) != nullptr ||
        offsets_.has_pending(group_id, partition.topic, partition.partition);
    if (has_offset) add_offset_tombstone(records_, group_id, partition.topic, partition.partition);
  }
  return writer_.write_each(records_) ? ErrorCode::kNone : ErrorCode::kUnknownServerError;
}

}  // namespace pelton::broker::group
