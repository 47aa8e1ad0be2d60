#include "broker/group/group_records.h"

#include <vector>

#include "proto/messages/offset_records.h"

namespace pelton::broker::group {
namespace {

// The last version that is not flexible: what Kafka writes until a tagged field needs more.
constexpr int16_t kGroupMetadataVersion = 3;
constexpr int16_t kOffsetCommitVersion = 4;
// The only version with an expiry time.
constexpr int16_t kOffsetCommitExpiryVersion = 1;

template <class AssignmentOf>
void add_group(RecordBuffer& records, const ClassicGroup& group, AssignmentOf&& assignment_of) {
  std::vector<proto::GroupMetadataValue::MemberMetadata> members;
  members.reserve(group.members().size());
  for (const auto& [id, member] : group.members()) {
    members.push_back({.member_id = id,
                       .group_instance_id = member->instance_id,
                       .client_id = member->client_id,
                       .client_host = member->client_host,
                       .rebalance_timeout = member->rebalance_timeout_ms,
                       .session_timeout = member->session_timeout_ms,
                       .subscription = member->metadata(group.protocol_name().value_or("")),
                       .assignment = assignment_of(*member)});
  }
  proto::GroupMetadataValue value;
  if (group.protocol_type()) value.protocol_type = *group.protocol_type();
  value.generation = group.generation();
  value.protocol = group.protocol_name();
  value.leader = group.leader();
  value.current_state_timestamp = group.state_timestamp().value_or(-1);
  value.members = members;
  records.add(proto::GroupMetadataKey{.group = group.id()}, value, kGroupMetadataVersion);
}

}  // namespace

void add_group_metadata(RecordBuffer& records, const ClassicGroup& group) {
  add_group(records, group, [](const ClassicMember& member) { return Bytes(member.assignment); });
}

void add_group_metadata(RecordBuffer& records, const ClassicGroup& group,
                        const Assignments& assignments) {
  add_group(records, group, [&](const ClassicMember& member) {
    auto found = assignments.find(member.id());
    return found == assignments.end() ? Bytes{} : Bytes(found->second);
  });
}

void add_new_group(RecordBuffer& records, const ClassicGroup& group) {
  proto::GroupMetadataValue value;
  value.generation = 0;
  value.protocol = std::nullopt;
  value.leader = std::nullopt;
  value.current_state_timestamp = group.state_timestamp().value_or(-1);
  records.add(proto::GroupMetadataKey{.group = group.id()}, value, kGroupMetadataVersion);
}

void add_group_tombstone(RecordBuffer& records, std::string_view group_id) {
  records.add_tombstone(proto::GroupMetadataKey{.group = group_id});
}

void add_offset_commit(RecordBuffer& records, std::string_view group_id, std::string_view topic,
                       int32_t partition, const CommittedOffset& offset) {
  proto::OffsetCommitValue value{.offset = offset.offset,
                                 .leader_epoch = offset.leader_epoch,
                                 .metadata = offset.metadata,
                                 .commit_timestamp = offset.commit_timestamp,
                                 .expire_timestamp = -1,
                                 .topic_id = {}};
  int16_t version = kOffsetCommitVersion;
  if (offset.expire_timestamp) {
    value.expire_timestamp = *offset.expire_timestamp;
    version = kOffsetCommitExpiryVersion;
  } else {
    value.topic_id = offset.topic_id;
  }
  records.add(proto::OffsetCommitKey{.group = group_id, .topic = topic, .partition = partition},
              value, version);
}

void add_offset_tombstone(RecordBuffer& records, std::string_view group_id, std::string_view topic,
                          int32_t partition) {
  records.add_tombstone(
      proto::OffsetCommitKey{.group = group_id, .topic = topic, .partition = partition});
}

}  // namespace pelton::broker::group
