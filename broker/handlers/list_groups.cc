// ListGroups: the groups of all shards, visited one after another, some of them in each turn.

#include "proto/messages/list_groups.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::ListGroupsRequest;
using proto::ListGroupsResponse;

constexpr std::string_view kClassicType = "classic";

using group::GroupState;
constexpr GroupState kStates[] = {GroupState::kEmpty, GroupState::kPreparingRebalance,
                                  GroupState::kCompletingRebalance, GroupState::kStable,
                                  GroupState::kDead};
constexpr size_t kGroupsPerTurn = 2'000;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// No filter lets everything through.
bool passes(std::span<const std::string_view> filter, std::string_view value) {
  return filter.empty() ||
         std::ranges::any_of(filter, [&](auto one) { return equal_ignoring_case(one, value); });
}

struct Listing {
  explicit Listing(const ListGroupsRequest& asked) {
    for (GroupState state : kStates) wanted[static_cast<size_t>(state)] = passes(asked.states_filter, to_string(state));
  }
  bool wanted[std::size(kStates)];
  bool sees_all = false;  // may describe the cluster, and with it every group
  std::vector<ListGroupsResponse::ListedGroup> groups;
  ErrorCode error = ErrorCode::kNone;
  int32_t partition = 0;  // on this shard, from here on
  std::optional<std::string> after;  // in it, after this group
};

void list_one(Request& request, Listing& listing, const group::ClassicGroup& group) {
  if (!listing.wanted[static_cast<size_t>(group.state())]) return;
  if (!listing.sees_all &&
      !authorize(request, Operation::kDescribe, ResourceType::kGroup, group.id()))
    return;
  proto::Arena& arena = request.arena();
  std::string_view type = group.protocol_type() ? std::string_view(*group.protocol_type()) : "";
  if (!answer_has_room(arena, group.id().size() + type.size())) {
    listing.error = ErrorCode::kInvalidRequest;
    return;
  }
  listing.groups.push_back({.group_id = arena.copy(std::string_view(group.id())),
                            .protocol_type = arena.copy(type),
                            .group_state = to_string(group.state()),
                            .group_type = kClassicType});
}

void respond(Request& request, Listing& listing) {
  ListGroupsResponse response;
  response.error_code = proto::wire(listing.error);
  if (listing.error == ErrorCode::kNone) response.groups = listing.groups;
  request.respond(response);
}

// Whether every group of this shard is in the list.
bool list_some(BrokerShard& here, Request& request, Listing& listing) {
  size_t left = kGroupsPerTurn;
  while (left > 0 && listing.error == ErrorCode::kNone) {
    auto listed = here.groups->list_from(listing.partition);
    if (listed.index < 0) return true;
    // A group that is missing from the list would look deleted: better no list.
    if (listed.error == ErrorCode::kCoordinatorLoadInProgress) listing.error = listed.error;
    std::optional<std::string> last;
    if (listed.coordinator != nullptr && listing.error == ErrorCode::kNone) {
      const group::ClassicGroups& groups = listed.coordinator->groups();
      last = groups.visit_after(listing.after, left, [&](const group::ClassicGroup& group) {
        --left;
        list_one(request, listing, group);
      });
    }
    listing.partition = last ? listed.index : listed.index + 1;
    listing.after = std::move(last);
  }
  return listing.error != ErrorCode::kNone;
}

void list_here(BrokerShard& here, Request& request) {
  auto& listing = *static_cast<Listing*>(request.state);
  if (!list_some(here, request, listing)) return request.hop(here.shard.id(), &list_here);
  auto next = static_cast<ShardId>(here.shard.id() + 1);
  if (listing.error != ErrorCode::kNone || next == here.shard.count())
    return respond(request, listing);
  listing.partition = 0;
  request.hop(next, &list_here);
}

}  // namespace

void handle_list_groups(BrokerShard& here, Request& request) {
  auto* asked = request.decode<ListGroupsRequest>();
  if (asked == nullptr) return;
  auto& listing = request.make_state<Listing>(*asked);
  request.state = &listing;
  listing.sees_all =
      authorize(request, Operation::kDescribe, ResourceType::kCluster, "kafka-cluster");
  if (!passes(asked->types_filter, kClassicType)) return respond(request, listing);
  if (here.shard.id() == 0) return list_here(here, request);
  request.hop(0, &list_here);
}

}  // namespace pelton::broker
