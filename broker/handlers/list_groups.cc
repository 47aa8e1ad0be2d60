// ListGroups: the groups of all shards, visited one after another.

#include "proto/messages/list_groups.h"

#include <algorithm>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::ListGroupsRequest;
using proto::ListGroupsResponse;

constexpr std::string_view kClassicType = "classic";

struct Listing {
  explicit Listing(const ListGroupsRequest& its_asked) : asked(its_asked) {}
  const ListGroupsRequest& asked;
  bool sees_all = false;  // may describe the cluster, and with it every group
  std::vector<ListGroupsResponse::ListedGroup> groups;
  ErrorCode error = ErrorCode::kNone;
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// No filter lets everything through.
bool passes(std::span<const std::string_view> filter, std::string_view value) {
  return filter.empty() ||
         std::ranges::any_of(filter, [&](auto one) { return equal_ignoring_case(one, value); });
}

void list_one(Request& request, Listing& listing, const group::ClassicGroup& group) {
  std::string_view state = group::to_string(group.state());
  if (!passes(listing.asked.states_filter, state)) return;
  if (!listing.sees_all &&
      !authorize(request, Operation::kDescribe, ResourceType::kGroup, group.id()))
    return;
  proto::Arena& arena = request.arena();
  std::string_view type = group.protocol_type() ? std::string_view(*group.protocol_type()) : "";
  listing.groups.push_back({.group_id = arena.copy(std::string_view(group.id())),
                            .protocol_type = arena.copy(type),
                            .group_state = state,
                            .group_type = kClassicType});
}

void respond(Request& request, Listing& listing) {
  ListGroupsResponse response;
  response.error_code = proto::wire(listing.error);
  if (listing.error == ErrorCode::kNone) response.groups = listing.groups;
  request.respond(response);
}

void list_here(BrokerShard& here, Request& request) {
  auto& listing = *static_cast<Listing*>(request.state);
  here.groups->for_each([&](ErrorCode error, group::GroupCoordinator* coordinator) {
    // A group that is missing from the list would look deleted: better no list.
    if (error == ErrorCode::kCoordinatorLoadInProgress) listing.error = error;
    if (coordinator == nullptr) return;
    coordinator->groups().for_each(
        [&](const group::ClassicGroup& group) { list_one(request, listing, group); });
  });
  auto next = static_cast<ShardId>(here.shard.id() + 1);
  if (listing.error != ErrorCode::kNone || next == here.shard.count())
    return respond(request, listing);
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
