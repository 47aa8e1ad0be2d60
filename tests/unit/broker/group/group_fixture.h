// Members of a classic group, for tests of its protocol.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/broker/group/coordinator_fixture.h"

namespace pelton::broker::group {

struct JoinArgs {
  std::string group = "g";
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string type = "consumer";
  std::vector<std::pair<std::string, std::string>> protocols{{"range", "r"}};
  int32_t session_ms = 10'000;
  int32_t rebalance_ms = 60'000;
  int16_t version = 9;
};

class GroupTest : public CoordinatorTest {
 protected:
  // Answers stay valid to the end of the test.
  Joined& join(const JoinArgs& args) {
    std::vector<proto::JoinGroupRequest::JoinGroupRequestProtocol> protocols;
    for (const auto& [name, metadata] : args.protocols)
      protocols.push_back({.name = name, .metadata = as_bytes(metadata)});
    proto::JoinGroupRequest request;
    request.group_id = args.group;
    request.session_timeout_ms = args.session_ms;
    request.rebalance_timeout_ms = args.rebalance_ms;
    request.member_id = args.member_id;
    if (args.instance_id) request.group_instance_id = *args.instance_id;
    request.protocol_type = args.type;
    request.protocols = protocols;
    Joined& joined = joins_.emplace_back();
    groups().join({.version = args.version, .client_id = "client", .client_host = "/127.0.0.1"},
                  request, joined);
    return joined;
  }
  // The id that the coordinator gives a new dynamic member.
  std::string new_id(JoinArgs args = {}) {
    args.member_id.clear();
    Joined& joined = join(args);
    EXPECT_TRUE(joined.answered);
    EXPECT_EQ(joined.error, ErrorCode::kMemberIdRequired);
    return joined.member_id;
  }
  // Joins with an id of its own.
  Joined& join_dynamic(JoinArgs args = {}) {
    args.member_id = new_id(args);
    return join(args);
  }

  Synced& sync(std::string_view member, int32_t generation,
               const std::map<std::string, std::string>& assignments = {},
               std::optional<std::string_view> instance_id = {}) {
    std::vector<proto::SyncGroupRequest::SyncGroupRequestAssignment> list;
    for (const auto& [id, bytes] : assignments)
      list.push_back({.member_id = id, .assignment = as_bytes(bytes)});
    proto::SyncGroupRequest request;
    request.group_id = "g";
    request.generation_id = generation;
    request.member_id = member;
    request.group_instance_id = instance_id;
    request.assignments = list;
    Synced& synced = syncs_.emplace_back();
    groups().sync(request, synced);
    return synced;
  }
  ErrorCode heartbeat(std::string_view member, int32_t generation,
                      std::optional<std::string_view> instance_id = {}) {
    proto::HeartbeatRequest request;
    request.group_id = "g";
    request.generation_id = generation;
    request.member_id = member;
    request.group_instance_id = instance_id;
    return groups().heartbeat(request);
  }
  ErrorCode leave(std::string_view member, std::optional<std::string_view> instance_id = {}) {
    std::vector<proto::LeaveGroupRequest::MemberIdentity> members(1);
    members[0].member_id = member;
    members[0].group_instance_id = instance_id;
    std::vector<proto::LeaveGroupResponse::MemberResponse> answers(1);
    groups().leave("g", members, answers);
    return static_cast<ErrorCode>(answers[0].error_code);
  }
  // One member, joined, synced and stored: the group is stable in generation 1. Returns its id.
  std::string stable_group(JoinArgs args = {}) {
    Joined& joined = args.instance_id ? join(args) : join_dynamic(args);
    pass_ms(config.initial_rebalance_delay_ms + 1);
    EXPECT_TRUE(joined.answered);
    EXPECT_EQ(joined.error, ErrorCode::kNone);
    EXPECT_EQ(joined.leader, joined.member_id);
    Synced& synced = sync(joined.member_id, joined.generation, {{joined.member_id, "a1"}});
    commit();
    EXPECT_TRUE(synced.answered);
    EXPECT_EQ(state(), GroupState::kStable);
    return joined.member_id;
  }

 private:
  std::list<Joined> joins_;
  std::list<Synced> syncs_;
};

}  // namespace pelton::broker::group
