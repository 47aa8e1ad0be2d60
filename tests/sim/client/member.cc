#include "tests/sim/client/member.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "proto/messages/find_coordinator.h"
#include "proto/messages/heartbeat.h"
#include "proto/messages/leave_group.h"
#include "proto/messages/offset_commit.h"
#include "tests/sim/client/committed_offset.h"

namespace pelton::sim {

using proto::ErrorCode;

namespace {

constexpr int16_t kFindVersion = 2;
constexpr int16_t kInstancesFrom = 5;  // JoinGroup
constexpr std::string_view kType = "simulated";
constexpr std::string_view kProtocol = "round";

}  // namespace

Member::Member(Context& context, std::string name, std::string group, bool static_member)
    : Client(context, std::move(name)), group_(std::move(group)), static_(static_member) {}

std::optional<std::string_view> Member::instance() const {
  return static_ ? std::optional<std::string_view>(name()) : std::nullopt;
}

void Member::work() {
  if (!context_.producing) return;
  if (context_.topic_ids.empty()) return later(100 * kMilli, [this] { work(); });
  owned_.clear();
  // A process that died knows nothing of its former life.
  if (world_.chance(0.3)) id_.clear();
  find_coordinator();
}

void Member::find_coordinator() {
  proto::FindCoordinatorRequest request;
  request.key = group_;
  link_.call(request, kFindVersion, [this](proto::WireReader& in) {
    proto::FindCoordinatorResponse response;
    if (link_.decode(in, kFindVersion, response) && well(response.error_code, "FindCoordinator")) join();
  });
}

bool Member::well(int16_t code, const char* what) {
  auto error = static_cast<ErrorCode>(code);
  switch (error) {
    case ErrorCode::kNone:
      return true;
    case ErrorCode::kUnknownMemberId:
    case ErrorCode::kFencedInstanceId:
      model_.groups().refused();
      id_.clear();
      join_again();
      return false;
    case ErrorCode::kIllegalGeneration:
    case ErrorCode::kRebalanceInProgress:
      model_.groups().refused();
      join_again();
      return false;
    case ErrorCode::kCoordinatorLoadInProgress:
    case ErrorCode::kNotCoordinator:
    case ErrorCode::kCoordinatorNotAvailable:
      restart();
      return false;
    default:
      if (error != ErrorCode::kKafkaStorageError || !context_.disk_fails)
        bug(fmt::format("{}: unexpected error {}", what, code));
      restart();
      return false;
  }
}

void Member::join_again() {
  owned_.clear();
  if (context_.producing) later(world_.latency(kMilli, 300 * kMilli), [this] { join(); });
}

void Member::join() {
  auto version = static_cast<int16_t>(world_.between(static_ ? kInstancesFrom : 0, 9));
  proto::JoinGroupRequest::JoinGroupRequestProtocol protocol;
  protocol.name = kProtocol;
  protocol.metadata = as_bytes(world_.chance(0.9) ? std::string_view("usual") : std::string_view("other"));
  proto::JoinGroupRequest request;
  request.group_id = group_;
  request.session_timeout_ms = static_cast<int32_t>(world_.between(1'000, 5'000));
  request.rebalance_timeout_ms = static_cast<int32_t>(world_.latency(500, 4'000));
  request.member_id = id_;
  request.group_instance_id = instance();
  request.protocol_type = kType;
  request.protocols = {&protocol, 1};
  GroupModel::Moment sent = model_.groups().moment(group_);
  link_.call(
      request, version,
      [this, version, sent](proto::WireReader& in) {
        proto::JoinGroupResponse response;
        if (link_.decode(in, version, response)) on_joined(response, sent);
      },
      20 * kSecond);
}

void Member::on_joined(const proto::JoinGroupResponse& response, const GroupModel::Moment& sent) {
  if (static_cast<ErrorCode>(response.error_code) == ErrorCode::kMemberIdRequired) {
    id_ = response.member_id;
    return join();
  }
  if (!well(response.error_code, "JoinGroup")) return;
  if (!id_.empty() && response.member_id != id_) return bug("a JoinGroup answer for another member");
  id_ = response.member_id;
  generation_ = response.generation_id;
  model_.groups().joined(group_, generation_, sent);
  sync(response);
}

// Each partition to one of the members, by chance: two assignments of one generation would show.
std::vector<std::vector<uint8_t>> Member::assign(size_t members) {
  std::vector<std::vector<uint8_t>> parts(members);
  for (int32_t partition = 0; partition < model_.topics()[0].partitions; ++partition)
    parts[world_.below(members)].push_back(static_cast<uint8_t>(partition));
  return parts;
}

void Member::sync(const proto::JoinGroupResponse& response) {
  std::vector<std::pair<std::string, std::vector<uint8_t>>> assignments;
  bool leads = response.leader == id_ && !response.skip_assignment;
  if (leads) {
    bool there = std::any_of(response.members.begin(), response.members.end(),
                             [&](const auto& member) { return member.member_id == id_; });
    if (!there) return bug("a leader that is not among the members");
    auto parts = assign(response.members.size());
    for (size_t i = 0; i < parts.size(); ++i)
      assignments.emplace_back(std::string(response.members[i].member_id), std::move(parts[i]));
  }
  if (world_.chance(0.7)) return send_sync(assignments);
  later(world_.latency(kMilli, 3 * kSecond), [this, assignments] { send_sync(assignments); });
}

void Member::send_sync(const std::vector<std::pair<std::string, std::vector<uint8_t>>>& assignments) {
  auto version = static_cast<int16_t>(world_.between(static_ ? 3 : 0, 5));
  std::vector<proto::SyncGroupRequest::SyncGroupRequestAssignment> list;
  for (const auto& [member, bytes] : assignments) list.push_back({.member_id = member, .assignment = bytes});
  proto::SyncGroupRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = id_;
  request.group_instance_id = instance();
  request.protocol_type = kType;
  request.protocol_name = kProtocol;
  request.assignments = list;
  GroupModel::Moment sent = model_.groups().moment(group_);
  link_.call(
      request, version,
      [this, version, sent](proto::WireReader& in) {
        proto::SyncGroupResponse response;
        if (link_.decode(in, version, response)) on_synced(response, sent);
      },
      20 * kSecond);
}

void Member::on_synced(const proto::SyncGroupResponse& response, const GroupModel::Moment& sent) {
  if (!well(response.error_code, "SyncGroup")) return;
  owned_.assign(response.assignment.begin(), response.assignment.end());
  model_.groups().assigned(group_, generation_, static_ ? name() : id_, owned_, sent);
  live();
}

// ---------------------------------------------------------------- in the group

void Member::live() {
  if (!world_.chance(0.05)) return later(world_.latency(50 * kMilli, kSecond), [this] { act(); });
  // Longer than any session: it wakes up in a generation that is over, and goes on with what it was about.
  later(world_.between(2, 9) * kSecond, [this] {
    if (context_.producing && !owned_.empty()) return commit();
    act();
  });
}

void Member::act() {
  if (!context_.producing) return;
  uint64_t what = world_.below(100);
  if (what < 2) return restart();
  if (what < 4) return leave();
  if (what < 6) return join();  // for no reason that anybody knows
  if (what < 40 && !owned_.empty()) return commit();
  if (what < 55 && !owned_.empty()) return fetch();
  heartbeat();
}

void Member::heartbeat() {
  auto version = static_cast<int16_t>(world_.between(static_ ? 3 : 0, 4));
  proto::HeartbeatRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = id_;
  request.group_instance_id = instance();
  link_.call(request, version, [this, version](proto::WireReader& in) {
    proto::HeartbeatResponse response;
    if (!link_.decode(in, version, response) || !well(response.error_code, "Heartbeat")) return;
    // While a coordinator loads, heartbeats are answered without a look at the group.
    live();
  });
}

void Member::commit() {
  auto version = static_cast<int16_t>(world_.between(static_ ? 7 : 2, 9));
  int32_t index = owned_[world_.below(owned_.size())];
  std::string known_as = offset_name(group_, model_.topics()[0].name, index);
  int64_t offset = context_.next_offset++;
  proto::OffsetCommitRequest::OffsetCommitRequestPartition partition;
  partition.partition_index = index;
  partition.committed_offset = offset;
  proto::OffsetCommitRequest::OffsetCommitRequestTopic topic;
  topic.name = model_.topics()[0].name;
  topic.partitions = {&partition, 1};
  proto::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = generation_;
  request.member_id = id_;
  request.group_instance_id = instance();
  request.topics = {&topic, 1};
  model_.commit_tried(known_as, offset);
  GroupModel::Moment sent = model_.groups().moment(group_);
  link_.call(request, version, [this, version, sent, known_as, offset](proto::WireReader& in) {
    proto::OffsetCommitResponse response;
    if (!link_.decode(in, version, response)) return;
    if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1)
      return bug("an OffsetCommit answer of other partitions");
    if (!well(response.topics[0].partitions[0].error_code, "OffsetCommit")) return;
    model_.groups().accepted(group_, generation_, "a commit", sent);
    model_.commit_acked(known_as, offset);
    live();
  });
}

void Member::fetch() {
  int32_t index = owned_[world_.below(owned_.size())];
  fetch_committed(link_, context_, group_, model_.topics()[0].name, index, [this](int16_t error) {
    if (well(error, "OffsetFetch")) live();
  });
}

void Member::leave() {
  auto version = static_cast<int16_t>(world_.between(3, 5));
  proto::LeaveGroupRequest::MemberIdentity who;
  who.member_id = id_;
  who.group_instance_id = instance();
  proto::LeaveGroupRequest request;
  request.group_id = group_;
  request.members = {&who, 1};
  link_.call(request, version, [this, version](proto::WireReader& in) {
    proto::LeaveGroupResponse response;
    if (!link_.decode(in, version, response) || !well(response.error_code, "LeaveGroup")) return;
    id_.clear();
    owned_.clear();
    if (context_.producing) later(world_.latency(100 * kMilli, 4 * kSecond), [this] { join(); });
  });
}

}  // namespace pelton::sim
