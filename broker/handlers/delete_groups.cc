// DeleteGroups: answered when the groups' tombstones are committed.

#include "proto/messages/delete_groups.h"

#include <algorithm>
#include <vector>

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "broker/group/group_walk.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DeleteGroupsRequest;
using proto::DeleteGroupsResponse;
using proto::ErrorCode;
using Result = DeleteGroupsResponse::DeletableGroupResult;

class Deleting final : public group::GroupWalk {
 public:
  explicit Deleting(Request& its_request) : GroupWalk(its_request) {}
  std::span<Result> results;

 private:
  Step visit(BrokerShard& here, Item& item) override {
    Result& result = results[item.index()];
    auto found = here.groups->find(result.group_id);
    ErrorCode error = found.error;
    if (error == ErrorCode::kNone) error = found.coordinator->delete_group(result.group_id);
    result.error_code = proto::wire(error);
    if (error == ErrorCode::kNone) found.writer->after_pending(item.wait());
    return Step::kDone;
  }
  void committed(size_t index, ErrorCode error) override {
    results[index].error_code = proto::wire(error);
  }
  void finish() override {
    DeleteGroupsResponse response;
    response.results = results;
    request().respond(response);
  }
};

// A group that is named twice is answered once.
std::vector<std::string_view> distinct(std::span<const std::string_view> names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  auto twice = std::ranges::unique(sorted);
  sorted.erase(twice.begin(), twice.end());
  return sorted;
}

}  // namespace

void handle_delete_groups(BrokerShard& here, Request& request) {
  auto* asked = request.decode<DeleteGroupsRequest>();
  if (asked == nullptr) return;
  std::vector<std::string_view> names = distinct(asked->groups_names);
  if (!answer_has_room(request.arena(), names.size() * sizeof(Result)))
    return request.close_connection("too many groups in one request");
  auto& deleting = request.make_state<Deleting>(request);
  deleting.results = request.arena().array<Result>(names.size());
  deleting.expect(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Result& result = deleting.results[i];
    result.group_id = names[i];
    if (!authorize(request, Operation::kDelete, ResourceType::kGroup, names[i])) {
      result.error_code = proto::wire(ErrorCode::kGroupAuthorizationFailed);
    } else if (!deleting.add(here, i, names[i])) {
      result.error_code = proto::wire(ErrorCode::kNotCoordinator);
    }
  }
  deleting.start(here);
}

}  // namespace pelton::broker
