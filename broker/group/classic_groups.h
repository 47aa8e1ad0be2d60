// ClassicGroups: the classic group protocol over time: joining, syncing, heartbeats, leaving,
// timeouts. classic_join.cc, classic_rebalance.cc and classic_sync.cc hold the parts.
//
// Owner: the group coordinator of one partition, on its shard. Plain requests come in; answers go
// to the waiters, records to the writer. Knows neither requests of the network nor the log. What
// Kafka's coordinator keeps only in memory (members that join, generations before the assignment is
// stored) is so here too: a rebalance that a restart interrupts begins again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "broker/coordinator/state_machine.h"
#include "broker/group/classic_group.h"
#include "broker/group/group_config.h"
#include "broker/group/group_records.h"
#include "broker/group/memory_gauge.h"
#include "proto/messages/heartbeat.h"
#include "proto/messages/join_group.h"
#include "proto/messages/leave_group.h"
#include "proto/messages/sync_group.h"

namespace pelton::broker::group {

// Who sent a JoinGroup.
struct JoinContext {
  int16_t version = 0;
  std::string_view client_id;
  std::string_view client_host;  // "/127.0.0.1"
};

// Told of groups that came to nothing.
class GroupOwner {
 public:
  // Nobody joined the group under the ids that it gave out, and it never had a member. The group may be
  // gone after the call.
  virtual void group_unused(const ClassicGroup& group) = 0;

 protected:
  ~GroupOwner() = default;
};

class ClassicGroups final : public SessionOwner {
 public:
  ClassicGroups(const GroupConfig& config, coordinator::Environment& environment,
                coordinator::RecordWriter& writer, MemoryGauge& memory, GroupOwner& owner);
  ~ClassicGroups();

  // What is wrong with a JoinGroup whatever the group is; kNone: it may go to join().
  static proto::ErrorCode check_join(const GroupConfig& config,
                                     const proto::JoinGroupRequest& request);

  void join(const JoinContext& context, const proto::JoinGroupRequest& request, JoinWaiter& waiter);
  void sync(const proto::SyncGroupRequest& request, SyncWaiter& waiter);
  proto::ErrorCode heartbeat(const proto::HeartbeatRequest& request);
  // Fills one answer a member; the caller waits for what is pending before it answers.
  proto::ErrorCode leave(std::string_view group_id,
                         std::span<const proto::LeaveGroupRequest::MemberIdentity> members,
                         std::span<proto::LeaveGroupResponse::MemberResponse> answers);
  // A member that commits offsets is alive.
  void keep_alive(ClassicGroup& group, std::string_view member_id);

  ClassicGroup* find(std::string_view group_id) const;
  size_t size() const { return entries_.size(); }
  // Visits up to `most` groups (at least one), those whose ids come after `after`, in their order;
  // visit() may not change which groups there are. The last one's id; nullopt when there are no more.
  template <class Visit>
  std::optional<std::string> visit_after(const std::optional<std::string>& after, size_t most,
                                         Visit&& visit) const {
    auto at = after ? entries_.upper_bound(*after) : entries_.begin();
    for (; most > 0 && at != entries_.end(); --most, ++at) {
      visit(at->second->group);
      if (most == 1) return at->first;
    }
    return std::nullopt;
  }

  // --- replay ---
  // A new group, or the present one replaced, without members.
  ClassicGroup& put(std::string_view group_id, GroupState state = GroupState::kEmpty);
  void erase(std::string_view group_id);

  // Everything was replayed: sessions begin anew.
  void loaded();
  // Answers all waiters and forgets all groups.
  void unloaded(proto::ErrorCode error);

 private:
  // A group and its timers.
  struct Entry {
    Entry(ClassicGroups& owner, std::string id, GroupState state, int64_t now_ms)
        : groups(owner),
          incarnation(++owner.incarnations_),
          group(owner, owner.memory_, std::move(id), state, now_ms) {}
    void join_due() { groups.join_due(*this); }
    void sync_due() { groups.sync_due(*this); }

    ClassicGroups& groups;
    const uint64_t incarnation;  // a group that is deleted and made again is another one
    ClassicGroup group;
    Timer join_timer = Timer::bind<&Entry::join_due>(this);
    Timer sync_timer = Timer::bind<&Entry::sync_due>(this);
    // The first rebalance of an empty group waits for more members, longer when more come.
    bool initial = false;
    int32_t delay_ms = 0;
    int32_t remaining_ms = 0;
    int32_t sync_generation = 0;
    int32_t assigned_generation = -1;  // whose assignment was written last
  };
  class AssignmentWrite;
  class StaticReplacementWrite;
  friend class AssignmentWrite;
  friend class StaticReplacementWrite;

  Entry* entry(std::string_view group_id) const;
  // The same unless the group is another one by now.
  Entry* entry(std::string_view group_id, uint64_t incarnation) const;
  Entry& create(std::string_view group_id, GroupState state = GroupState::kEmpty);
  int64_t now_ms() { return environment_.wall_ms(); }
  void start_timer(Timer& timer, int64_t delay_ms);
  void start_session(ClassicMember& member) { start_session(member, member.session_timeout_ms); }
  void start_session(ClassicMember& member, int32_t timeout_ms);
  void session_expired(std::string group_id, std::string member_id) override;

  // --- classic_join.cc ---
  struct Join {
    const JoinContext& context;
    const proto::JoinGroupRequest& request;
    JoinWaiter& waiter;
  };
  bool accepts(const ClassicGroup& group, std::string_view member_id) const;
  bool memory_admits(const Entry* entry, const proto::JoinGroupRequest& request);
  void join_new(Entry& entry, const Join& join);
  void join_new_dynamic(Entry& entry, const Join& join, std::string new_id);
  void join_existing(Entry& entry, const Join& join);
  void rejoin(Entry& entry, ClassicMember& member, const Join& join);
  void add_member(Entry& entry, const Join& join, std::string member_id);
  void update_member(Entry& entry, ClassicMember& member, const Join& join);
  void replace_static_member(Entry& entry, const Join& join, ClassicMember& old,
                             std::string new_id);
  void static_member_stored(const StaticReplacementWrite& write, proto::ErrorCode error);
  std::string new_member_id(std::string_view prefix);

  // --- classic_rebalance.cc ---
  void prepare_or_complete(Entry& entry);
  void prepare_rebalance(Entry& entry);
  void maybe_complete_join(Entry& entry);
  void complete_join(Entry& entry);
  void answer_joins(Entry& entry);
  void join_due(Entry& entry);
  void sync_due(Entry& entry);
  void member_gone(Entry& entry);

  // --- classic_sync.cc ---
  proto::ErrorCode check_sync(const ClassicGroup& group,
                              const proto::SyncGroupRequest& request) const;
  void sync_completing(Entry& entry, const proto::SyncGroupRequest& request, SyncWaiter& waiter);
  void assignment_stored(AssignmentWrite& write, proto::ErrorCode error);
  void propagate_assignment(ClassicGroup& group, proto::ErrorCode error);
  void sync_received(Entry& entry, std::string_view member_id);
  proto::ErrorCode leave_one(Entry& entry, const proto::LeaveGroupRequest::MemberIdentity& member);

  const GroupConfig& config_;
  coordinator::Environment& environment_;
  coordinator::RecordWriter& writer_;
  MemoryGauge& memory_;
  GroupOwner& owner_;
  uint64_t incarnations_ = 0;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
  RecordBuffer records_;
};

}  // namespace pelton::broker::group
