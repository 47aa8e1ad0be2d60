// OffsetDelete: takes away committed offsets of a group; answered when the tombstones are committed.

#include "proto/messages/offset_delete.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::OffsetDeleteRequest;
using proto::OffsetDeleteResponse;
using RequestTopic = OffsetDeleteRequest::OffsetDeleteRequestTopic;
using ResponseTopic = OffsetDeleteResponse::OffsetDeleteResponseTopic;
using ResponsePartition = OffsetDeleteResponse::OffsetDeleteResponsePartition;

// An error of the whole leaves nothing else to say.
void respond_error(Request& request, ErrorCode error) {
  OffsetDeleteResponse response;
  response.error_code = proto::wire(error);
  request.respond(response);
}

struct Deleting final : coordinator::Continuation {
  Deleting(Request& its_request, const OffsetDeleteRequest& its_asked)
      : request(its_request), asked(its_asked) {}

  void done(ErrorCode error) override {
    if (error != ErrorCode::kNone) return respond_error(request, error);
    OffsetDeleteResponse response;
    response.topics = answers;
    request.respond(response);
  }

  Request& request;
  const OffsetDeleteRequest& asked;
  std::span<ResponseTopic> answers;
  std::span<group::OffsetDeletePartition> accepted;
};

void delete_offsets(BrokerShard& here, Request& request) {
  auto& deleting = *static_cast<Deleting*>(request.state);
  auto found = here.groups->find(deleting.asked.group_id);
  if (found.error != ErrorCode::kNone) return respond_error(request, found.error);
  ErrorCode error = found.coordinator->delete_offsets(deleting.asked.group_id, deleting.accepted);
  if (error != ErrorCode::kNone) return respond_error(request, error);
  found.writer->after_pending(deleting);
}

ErrorCode topic_error(const Request& request, const TopicInfo* topic, std::string_view name) {
  if (!authorize(request, Operation::kRead, ResourceType::kTopic, name))
    return ErrorCode::kTopicAuthorizationFailed;
  return topic == nullptr ? ErrorCode::kUnknownTopicOrPartition : ErrorCode::kNone;
}

// Fills the answers' shape and errors, and what is left to delete.
void sort_out(BrokerShard& here, Deleting& deleting, size_t count) {
  proto::Arena& arena = deleting.request.arena();
  const auto& topics = deleting.asked.topics;
  auto answers = arena.array<ResponseTopic>(topics.size());
  auto accepted = arena.array<group::OffsetDeletePartition>(count);
  size_t answered = 0, used = 0;
  for (const RequestTopic& asked : topics) {
    if (asked.partitions.empty()) continue;  // Kafka does not mention it either
    ResponseTopic& answer = answers[answered++];
    answer.name = asked.name;
    answer.partitions = arena.array<ResponsePartition>(asked.partitions.size());
    const TopicInfo* topic = here.catalog->find(asked.name);
    ErrorCode error = topic_error(deleting.request, topic, asked.name);
    for (size_t j = 0; j < asked.partitions.size(); ++j) {
      int32_t partition = asked.partitions[j].partition_index;
      ResponsePartition& row = answer.partitions[j];
      row.partition_index = partition;
      row.error_code = proto::wire(error);
      if (error != ErrorCode::kNone) continue;
      if (partition < 0 || static_cast<size_t>(partition) >= topic->partitions.size()) {
        row.error_code = proto::wire(ErrorCode::kUnknownTopicOrPartition);
        continue;
      }
      accepted[used++] = {
          .topic = asked.name, .partition = partition, .error_code = &row.error_code};
    }
  }
  deleting.answers = answers.first(answered);
  deleting.accepted = accepted.first(used);
}

}  // namespace

void handle_offset_delete(BrokerShard& here, Request& request) {
  auto* asked = request.decode<OffsetDeleteRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kDelete, ResourceType::kGroup, asked->group_id))
    return respond_error(request, ErrorCode::kGroupAuthorizationFailed);
  if (asked->group_id.empty()) return respond_error(request, ErrorCode::kInvalidGroupId);
  size_t count = 0;
  for (const RequestTopic& topic : asked->topics) count += topic.partitions.size();
  size_t bytes = asked->topics.size() * sizeof(ResponseTopic) +
                 count * (sizeof(ResponsePartition) + sizeof(group::OffsetDeletePartition));
  if (!answer_has_room(request.arena(), bytes)) return respond_error(request, ErrorCode::kInvalidRequest);
  auto& deleting = request.make_state<Deleting>(request, *asked);
  request.state = &deleting;
  sort_out(here, deleting, count);
  if (!group::go_to_coordinator(here, request, asked->group_id, &delete_offsets))
    respond_error(request, ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
