// StaticReplacementWrite: the record that stores a static member's new id while its group is
// stable; the join is answered when it is committed, and taken back when it cannot be stored.
//
// Owned by itself from the write until done().
#pragma once

#include <string>
#include <vector>

#include "broker/group/classic_groups.h"

namespace pelton::broker::group {

class ClassicGroups::StaticReplacementWrite final : public coordinator::Continuation {
 public:
  static constexpr int16_t kSkipAssignmentFrom = 9;

  // Before `old` is replaced.
  StaticReplacementWrite(ClassicGroups& its_groups, const Entry& entry, const ClassicMember& old,
                         int16_t its_version)
      : groups(its_groups),
        group_id(entry.group.id()),
        incarnation(entry.incarnation),
        version(its_version),
        old_leader(entry.group.leader().value_or("")),
        old_member_id(old.id()),
        old_rebalance_timeout_ms(old.rebalance_timeout_ms),
        old_session_timeout_ms(old.session_timeout_ms),
        old_protocols(old.protocols) {
    for (const MemberProtocol& protocol : old_protocols) {
      views_.push_back({.name = protocol.name, .metadata = protocol.metadata});
    }
  }

  void done(proto::ErrorCode error) override {
    groups.static_member_stored(*this, error);
    delete this;
  }
  ClassicGroup::JoinProtocols old_protocol_views() const { return views_; }

  ClassicGroups& groups;
  const std::string group_id;
  const uint64_t incarnation;
  const int16_t version;
  const std::string old_leader;
  const std::string old_member_id;
  std::string new_member_id;
  const int32_t old_rebalance_timeout_ms;
  const int32_t old_session_timeout_ms;

 private:
  const std::vector<MemberProtocol> old_protocols;
  std::vector<proto::JoinGroupRequest::JoinGroupRequestProtocol> views_;
};

}  // namespace pelton::broker::group
