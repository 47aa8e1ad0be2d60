// Committing offsets.
#include <algorithm>

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
  if (!memory_admits(commit)) return ErrorCode::kCoordinatorLoadInProgress;
  if (!add_commit_records(commit)) return ErrorCode::kUnknownServerError;
  writer_.write(records_, coordinator::Replay::kYes, &then);
  return ErrorCode::kNone;
}

// Commits that replace what is there are welcome also when memory is short.
bool GroupCoordinator::memory_admits(const OffsetCommit& commit) {
  size_t bytes = 0;
  for (const OffsetCommitPartition& partition : commit.partitions) {
    size_t metadata = partition.metadata.value_or("").size();
    const CommittedOffset* present =
        offsets_.find(commit.group_id, partition.topic, partition.partition);
    if (present == nullptr) {
      bytes += OffsetStore::bytes_of({}) + metadata;
    } else {
      bytes += metadata - std::min(metadata, present->metadata.size());
    }
  }
  return memory_.admits(bytes);
}

// False: more than one batch can hold.
bool GroupCoordinator::add_commit_records(const OffsetCommit& commit) {
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
    if (!writer_.fits(records_)) return false;
  }
  return true;
}

}  // namespace pelton::broker::group
