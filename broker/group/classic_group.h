// ClassicGroup: the members, generation and state of one group of the classic protocol. Holds the
// rules that need one group only; what happens over time is ClassicGroups' (classic_groups.h).
//
// Owner: ClassicGroups, on the coordinator partition's shard. Timers and waiters end with it.
// Invariants: the leader is a member; awaiting_join() counts the members with a join waiter;
// each static instance id names one member.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "broker/group/classic_member.h"
#include "proto/error_code.h"

namespace pelton::broker::group {

enum class GroupState : uint8_t {
  kEmpty,
  kPreparingRebalance,
  kCompletingRebalance,
  kStable,
  kDead
};
// Kafka's word: "PreparingRebalance".
std::string_view to_string(GroupState state);

class ClassicGroup {
 public:
  using Members = std::map<std::string, std::unique_ptr<ClassicMember>, std::less<>>;
  using JoinProtocols = std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol>;

  ClassicGroup(SessionOwner& sessions, MemoryGauge& memory, std::string id, GroupState state,
               int64_t now_ms);
  ClassicGroup(const ClassicGroup&) = delete;
  ClassicGroup& operator=(const ClassicGroup&) = delete;

  const std::string& id() const { return id_; }
  GroupState state() const { return state_; }
  GroupState previous_state() const { return previous_state_; }
  bool is(GroupState state) const { return state_ == state; }
  void transition_to(GroupState next, int64_t now_ms);
  bool can_rebalance() const;
  // It was made for a member that has not come, and has had none.
  bool was_never_joined() const {
    return is(GroupState::kEmpty) && !protocol_type_ && generation_ == 0;
  }

  // --- members ---
  const Members& members() const { return members_; }
  ClassicMember* member(std::string_view id) const;
  ClassicMember* static_member(std::string_view instance_id) const;
  // Adds; the first member decides the protocol type and is the leader.
  ClassicMember& add(std::unique_ptr<ClassicMember> member, JoinWaiter* waiter);
  // Forgets a member or pending member; answers what waits for it with kUnknownMemberId.
  void remove(std::string_view id);
  // The static member under a new id; whoever waits under the old one is fenced.
  ClassicMember& replace_static(ClassicMember& old, std::string new_id);
  // Takes over what a JoinGroup says; a join that waited is answered (the client sent another).
  void update(ClassicMember& member, JoinProtocols protocols, int32_t rebalance_timeout_ms,
              int32_t session_timeout_ms, JoinWaiter* waiter);
  // kUnknownMemberId or kFencedInstanceId when the pair names no member.
  proto::ErrorCode validate(std::string_view member_id,
                            const std::optional<std::string_view>& instance_id) const;

  // Ids given out (MEMBER_ID_REQUIRED) whose owners have not joined yet.
  Session& add_pending(std::string member_id);
  bool is_pending(std::string_view id) const { return pending_.contains(id); }
  size_t pending_count() const { return pending_.size(); }
  // Members that have not sent SyncGroup in this generation.
  std::set<std::string, std::less<>>& pending_sync() { return pending_sync_; }

  size_t awaiting_join() const { return awaiting_join_; }
  bool all_joined() const { return members_.size() == awaiting_join_ && pending_.empty(); }
  int32_t rebalance_timeout_ms() const;  // the largest of its members'

  // --- leader, protocol, generation ---
  const std::optional<std::string>& leader() const { return leader_; }
  bool is_leader(std::string_view id) const { return leader_ && *leader_ == id; }
  // Whether a leader who has joined exists after the call; chooses another member if it must.
  bool elect_joined_leader();
  int32_t generation() const { return generation_; }
  const std::optional<std::string>& protocol_type() const { return protocol_type_; }
  const std::optional<std::string>& protocol_name() const { return protocol_name_; }
  bool supports(std::string_view type, JoinProtocols protocols) const;
  // The protocol that all support and most prefer. Has members.
  std::string select_protocol() const;
  void next_generation(int64_t now_ms);
  // From a GroupMetadata record.
  void restore(int32_t generation, std::optional<std::string> protocol_type,
               std::optional<std::string> protocol_name, std::optional<std::string> leader,
               std::optional<int64_t> state_timestamp);
  // After all members of a record were added.
  void compute_subscriptions();

  // --- answers ---
  void answer_join(ClassicMember& member, const proto::JoinGroupResponse& response);
  // Whether one was waiting.
  bool answer_sync(ClassicMember& member, const proto::SyncGroupResponse& response);
  // What the leader gets to know of the members.
  std::vector<proto::JoinGroupResponse::JoinGroupResponseMember> join_members() const;

  // --- offsets ---
  proto::ErrorCode validate_offset_commit(std::string_view member_id,
                                          const std::optional<std::string_view>& instance_id,
                                          int32_t generation) const;
  std::optional<int64_t> state_timestamp() const { return state_timestamp_; }
  bool uses_consumer_protocol() const { return protocol_type_ == "consumer"; }
  // nullopt: not known (another protocol type, or metadata that does not parse).
  const std::optional<std::set<std::string, std::less<>>>& subscribed_topics() const {
    return subscribed_topics_;
  }
  bool subscribed_to(std::string_view topic) const;

  // A new member came while the first rebalance waits for more.
  bool new_member_added = false;

 private:
  size_t supporters(std::string_view protocol) const;
  void count_protocols(const ClassicMember& member, int by);
  void answer_gone(ClassicMember& member);
  void set_join_waiter(ClassicMember& member, JoinWaiter* waiter);

  SessionOwner& sessions_;
  MemoryGauge& memory_;
  const std::string id_;
  GroupState state_;
  GroupState previous_state_ = GroupState::kDead;
  std::optional<int64_t> state_timestamp_;
  int32_t generation_ = 0;
  std::optional<std::string> protocol_type_;
  std::optional<std::string> protocol_name_;
  std::optional<std::string> leader_;
  Members members_;
  std::map<std::string, std::string, std::less<>> static_members_;  // instance id -> member id
  std::map<std::string, std::unique_ptr<Session>, std::less<>> pending_;
  std::set<std::string, std::less<>> pending_sync_;
  std::map<std::string, size_t, std::less<>> supporters_;  // members that support each protocol
  size_t awaiting_join_ = 0;
  std::optional<std::set<std::string, std::less<>>> subscribed_topics_;
  MemoryCharge charge_;  // without members
};

}  // namespace pelton::broker::group
