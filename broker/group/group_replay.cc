// Replaying the records of __consumer_offsets.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "broker/group/group_coordinator.h"
#include "proto/messages/offset_records.h"
#include "proto/wire.h"

namespace pelton::broker::group {
namespace {

template <class Message>
bool read(Message& message, proto::WireReader& in, int16_t version) {
  if (version < Message::kMinVersion || version > Message::kMaxVersion) return false;
  message.decode(in, version);
  return in.ok();
}

template <class Value>
bool read_value(Value& value, Bytes bytes, proto::Arena& arena) {
  proto::WireReader in(bytes, arena);
  int16_t version = in.read_i16();
  return in.ok() && read(value, in, version);
}

std::optional<std::string> to_owned(const std::optional<std::string_view>& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

size_t arena_limit(const coordinator::ReplayedRecord& record) {
  return proto::Arena::limit_for(record.key.size() + (record.value ? record.value->size() : 0));
}

}  // namespace

bool GroupCoordinator::replay(const coordinator::ReplayedRecord& record) {
  if (record.key.size() < sizeof(int16_t)) return false;
  auto type = load_be<int16_t>(record.key.data());
  switch (type) {
    case proto::LegacyOffsetCommitKey::kRecordType:
    case proto::OffsetCommitKey::kRecordType:
      return replay_offset(record, type);
    case proto::GroupMetadataKey::kRecordType:
      return replay_group(record);
    default:
      // Groups of other protocols, written by a broker that knows them: passed over, as Kafka does.
      return true;
  }
}

bool GroupCoordinator::replay_offset(const coordinator::ReplayedRecord& record, int16_t type) {
  proto::Arena arena(arena_limit(record));
  proto::WireReader in(record.key.subspan(sizeof(int16_t)), arena);
  proto::OffsetCommitKey key;  // types 0 and 1 have the same fields
  if (!read(key, in, 0)) return false;
  if (!record.value) {
    offsets_.remove(key.group, key.topic, key.partition);
    return true;
  }
  CommittedOffset offset;
  offset.record_offset = record.offset;
  if (type == proto::LegacyOffsetCommitKey::kRecordType) {
    proto::LegacyOffsetCommitValue value;
    if (!read_value(value, *record.value, arena)) return false;
    offset.offset = value.offset;
    offset.metadata = value.metadata;
    offset.commit_timestamp = value.commit_timestamp;
  } else {
    proto::OffsetCommitValue value;
    if (!read_value(value, *record.value, arena)) return false;
    offset.offset = value.offset;
    offset.leader_epoch = value.leader_epoch;
    offset.metadata = value.metadata;
    offset.commit_timestamp = value.commit_timestamp;
    if (value.expire_timestamp >= 0) offset.expire_timestamp = value.expire_timestamp;
    offset.topic_id = value.topic_id;
  }
  // A commit without members makes a simple group: empty, without a protocol type.
  if (groups_.find(key.group) == nullptr) groups_.put(key.group);
  if (record.producer_id >= 0) {
    offsets_.put_pending(record.producer_id, key.group, key.topic, key.partition,
                         std::move(offset));
  } else {
    offsets_.put(key.group, key.topic, key.partition, std::move(offset));
  }
  return true;
}

bool GroupCoordinator::replay_group(const coordinator::ReplayedRecord& record) {
  proto::Arena arena(arena_limit(record));
  proto::WireReader in(record.key.subspan(sizeof(int16_t)), arena);
  proto::GroupMetadataKey key;
  if (!read(key, in, 0)) return false;
  if (!record.value) {
    groups_.erase(key.group);
    return true;
  }
  proto::GroupMetadataValue value;
  if (!read_value(value, *record.value, arena)) return false;

  ClassicGroup& group =
      groups_.put(key.group, value.members.empty() ? GroupState::kEmpty : GroupState::kStable);
  for (const auto& stored : value.members) {
    if (group.member(stored.member_id) != nullptr) return false;
    auto member =
        std::make_unique<ClassicMember>(groups_, memory_, group.id(), std::string(stored.member_id));
    member->instance_id = to_owned(stored.group_instance_id);
    member->client_id = stored.client_id;
    member->client_host = stored.client_host;
    member->session_timeout_ms = stored.session_timeout;
    member->rebalance_timeout_ms =
        stored.rebalance_timeout == -1 ? stored.session_timeout : stored.rebalance_timeout;
    member->protocol_type = value.protocol_type;
    member->protocols.push_back(
        {std::string(value.protocol.value_or("")), to_blob(stored.subscription)});
    member->assignment = to_blob(stored.assignment);
    group.add(std::move(member), nullptr);
  }
  auto leader = to_owned(value.leader);
  if (leader && group.member(*leader) == nullptr) {
    leader.reset();
    if (!group.members().empty()) leader = group.members().begin()->first;
  }
  std::optional<std::string> type;
  if (!value.protocol_type.empty()) type = std::string(value.protocol_type);
  std::optional<int64_t> since;
  if (value.current_state_timestamp >= 0) since = value.current_state_timestamp;
  group.restore(value.generation, std::move(type), to_owned(value.protocol), std::move(leader),
                since);
  group.compute_subscriptions();
  return true;
}

void GroupCoordinator::replay_transaction_end(int64_t producer_id, bool committed) {
  offsets_.end_transaction(producer_id, committed);
}

}  // namespace pelton::broker::group
