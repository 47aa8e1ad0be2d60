// DescribeGroups: each group on the shard that coordinates it.

#include "proto/messages/describe_groups.h"

#include <fmt/format.h>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "broker/group/group_walk.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DescribeGroupsRequest;
using proto::DescribeGroupsResponse;
using proto::ErrorCode;
using DescribedGroup = DescribeGroupsResponse::DescribedGroup;

constexpr int16_t kGroupNotFoundFrom = 6;

std::string_view protocol_of(const group::ClassicGroup& group) {
  const std::optional<std::string>& name = group.protocol_name();
  return name ? std::string_view(*name) : std::string_view();
}

void describe_members(const group::ClassicGroup& group, proto::Arena& arena,
                      DescribedGroup& answer) {
  // Metadata belongs to the chosen protocol; while a rebalance is under way there is none.
  bool stable = group.is(group::GroupState::kStable);
  answer.members =
      arena.array<DescribeGroupsResponse::DescribedGroupMember>(group.members().size());
  size_t index = 0;
  for (const auto& [id, member] : group.members()) {
    auto& described = answer.members[index++];
    described.member_id = arena.copy(std::string_view(id));
    if (member->instance_id)
      described.group_instance_id = arena.copy(std::string_view(*member->instance_id));
    described.client_id = arena.copy(std::string_view(member->client_id));
    described.client_host = arena.copy(std::string_view(member->client_host));
    described.member_assignment = arena.copy(Bytes(member->assignment));
    if (stable)
      described.member_metadata = arena.copy(member->metadata(protocol_of(group)));
  }
}

int32_t allowed_operations(const Request& request, std::string_view group_id) {
  constexpr Operation kOfGroups[] = {Operation::kRead, Operation::kDelete, Operation::kDescribe,
                                     Operation::kDescribeConfigs, Operation::kAlterConfigs};
  int32_t bits = 0;
  for (Operation operation : kOfGroups) {
    if (authorize(request, operation, ResourceType::kGroup, group_id))
      bits |= 1 << static_cast<int>(operation);
  }
  return bits;
}

void describe(Request& request, const DescribeGroupsRequest& asked, const group::ClassicGroup* group,
              DescribedGroup& answer) {
  proto::Arena& arena = request.arena();
  if (group == nullptr) {
    answer.group_state = group::to_string(group::GroupState::kDead);
    if (request.version() >= kGroupNotFoundFrom) {
      answer.error_code = proto::wire(ErrorCode::kGroupIdNotFound);
      answer.error_message = arena.copy(fmt::format("Group {} not found.", answer.group_id));
      return;
    }
  } else {
    answer.group_state = group::to_string(group->state());
    answer.protocol_type = arena.copy(std::string_view(group->protocol_type().value_or("")));
    if (group->is(group::GroupState::kStable))
      answer.protocol_data = arena.copy(std::string_view(group->protocol_name().value_or("")));
    describe_members(*group, arena, answer);
  }
  if (asked.include_authorized_operations)
    answer.authorized_operations = allowed_operations(request, answer.group_id);
}

// A look at the group's size before it is copied.
size_t copied_bytes(const group::ClassicGroup& group) {
  size_t bytes = 0;
  for (const auto& [id, member] : group.members()) {
    bytes += sizeof(DescribeGroupsResponse::DescribedGroupMember) + id.size() +
             member->client_id.size() + member->client_host.size() + member->assignment.size() +
             member->metadata(protocol_of(group)).size();
  }
  return bytes;
}

class Describing final : public group::GroupWalk {
 public:
  Describing(Request& its_request, const DescribeGroupsRequest& its_asked)
      : GroupWalk(its_request), asked(its_asked) {}

  const DescribeGroupsRequest& asked;
  std::span<DescribedGroup> answers;

 private:
  Step visit(BrokerShard& here, Item& item) override {
    DescribedGroup& answer = answers[item.index()];
    auto found = here.groups->find(answer.group_id);
    if (found.error != ErrorCode::kNone) {
      answer.error_code = proto::wire(found.error);
      return Step::kDone;
    }
    const group::ClassicGroup* group = found.coordinator->groups().find(answer.group_id);
    if (group != nullptr && !full_) full_ = !answer_has_room(request().arena(), copied_bytes(*group));
    if (group != nullptr && full_) {
      answer.error_code = proto::wire(ErrorCode::kInvalidRequest);
    } else {
      describe(request(), asked, group, answer);
    }
    return Step::kDone;
  }
  void finish() override {
    DescribeGroupsResponse response;
    response.groups = answers;
    request().respond(response);
  }

  bool full_ = false;  // no room for another group: none is looked at any more
};

}  // namespace

void handle_describe_groups(BrokerShard& here, Request& request) {
  auto* asked = request.decode<DescribeGroupsRequest>();
  if (asked == nullptr) return;
  if (!answer_has_room(request.arena(), asked->groups.size() * sizeof(DescribedGroup)))
    return request.close_connection("too many groups in one request");
  auto& describing = request.make_state<Describing>(request, *asked);
  describing.answers = request.arena().array<DescribedGroup>(asked->groups.size());
  describing.expect(asked->groups.size());
  for (size_t i = 0; i < asked->groups.size(); ++i) {
    DescribedGroup& answer = describing.answers[i];
    answer.group_id = asked->groups[i];
    if (!authorize(request, Operation::kDescribe, ResourceType::kGroup, answer.group_id)) {
      answer.error_code = proto::wire(ErrorCode::kGroupAuthorizationFailed);
    } else if (!describing.add(here, i, answer.group_id)) {
      answer.error_code = proto::wire(ErrorCode::kNotCoordinator);
    }
  }
  describing.start(here);
}

}  // namespace pelton::broker
