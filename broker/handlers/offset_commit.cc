// OffsetCommit: answered when the offsets are on stable storage.

#include "proto/messages/offset_commit.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"
#include "broker/group/group_shard.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::OffsetCommitRequest;
using proto::OffsetCommitResponse;
using RequestTopic = OffsetCommitRequest::OffsetCommitRequestTopic;
using ResponseTopic = OffsetCommitResponse::OffsetCommitResponseTopic;
using ResponsePartition = OffsetCommitResponse::OffsetCommitResponsePartition;

constexpr int16_t kTopicIdsFrom = 10;

struct Committing final : coordinator::Continuation {
  Committing(Request& its_request, const OffsetCommitRequest& its_asked)
      : request(its_request), asked(its_asked) {}

  void done(ErrorCode error) override {
    if (error != ErrorCode::kNone) fail(error);
    OffsetCommitResponse response;
    response.topics = answers;
    request.respond(response);
  }
  // Every partition that has no error of its own.
  void fail(ErrorCode error) {
    for (const auto& partition : accepted) {
      if (*partition.error_code == 0) *partition.error_code = proto::wire(error);
    }
  }

  Request& request;
  const OffsetCommitRequest& asked;
  std::span<ResponseTopic> answers;
  std::span<group::OffsetCommitPartition> accepted;
};

void commit(BrokerShard& here, Request& request) {
  auto& committing = *static_cast<Committing*>(request.state);
  const OffsetCommitRequest& asked = committing.asked;
  auto found = here.groups->find(asked.group_id);
  if (found.error != ErrorCode::kNone) return committing.done(found.error);
  group::OffsetCommit commit{.version = request.version(),
                             .group_id = asked.group_id,
                             .generation = asked.generation_id_or_member_epoch,
                             .member_id = asked.member_id,
                             .instance_id = asked.group_instance_id,
                             .retention_ms = asked.retention_time_ms,
                             .partitions = committing.accepted};
  ErrorCode error = found.coordinator->commit_offsets(commit, committing);
  if (error != ErrorCode::kNone) committing.done(error);
}

// The topic that is meant, and its name; otherwise the error of all its partitions.
ErrorCode locate(BrokerShard& here, Request& request, const RequestTopic& asked,
                 const TopicInfo*& topic, std::string_view& name) {
  bool by_id = request.version() >= kTopicIdsFrom;
  topic = by_id ? here.catalog->find(asked.topic_id) : here.catalog->find(asked.name);
  if (by_id && topic == nullptr) return ErrorCode::kUnknownTopicId;
  // The snapshot may be gone when the name is used.
  name = by_id ? request.arena().copy(std::string_view(topic->name)) : asked.name;
  if (!authorize(request, Operation::kRead, ResourceType::kTopic, name))
    return ErrorCode::kTopicAuthorizationFailed;
  return topic != nullptr ? ErrorCode::kNone : ErrorCode::kUnknownTopicOrPartition;
}

// Fills the answers' shape and errors, and what is left to commit.
void sort_out(BrokerShard& here, Committing& committing) {
  Request& request = committing.request;
  const auto& topics = committing.asked.topics;
  size_t count = 0;
  for (const RequestTopic& topic : topics) count += topic.partitions.size();
  committing.answers = request.arena().array<ResponseTopic>(topics.size());
  auto accepted = request.arena().array<group::OffsetCommitPartition>(count);
  size_t used = 0;
  for (size_t i = 0; i < topics.size(); ++i) {
    const RequestTopic& asked = topics[i];
    ResponseTopic& answer = committing.answers[i];
    answer.name = asked.name;
    answer.topic_id = asked.topic_id;
    answer.partitions = request.arena().array<ResponsePartition>(asked.partitions.size());
    const TopicInfo* topic = nullptr;
    std::string_view name;
    ErrorCode topic_error = locate(here, request, asked, topic, name);
    for (size_t j = 0; j < asked.partitions.size(); ++j) {
      const auto& partition = asked.partitions[j];
      answer.partitions[j].partition_index = partition.partition_index;
      ErrorCode error = topic_error;
      if (error == ErrorCode::kNone &&
          (partition.partition_index < 0 ||
           static_cast<size_t>(partition.partition_index) >= topic->partitions.size())) {
        error = ErrorCode::kUnknownTopicOrPartition;
      }
      answer.partitions[j].error_code = proto::wire(error);
      if (error != ErrorCode::kNone) continue;
      accepted[used++] = {.topic = name,
                          .topic_id = topic->id,
                          .partition = partition.partition_index,
                          .offset = partition.committed_offset,
                          .leader_epoch = partition.committed_leader_epoch,
                          .metadata = partition.committed_metadata,
                          .error_code = &answer.partitions[j].error_code};
    }
  }
  committing.accepted = accepted.first(used);
}

// All partitions alike.
void respond_error(Committing& committing, ErrorCode error) {
  for (ResponseTopic& topic : committing.answers) {
    for (ResponsePartition& partition : topic.partitions) partition.error_code = proto::wire(error);
  }
  committing.done(ErrorCode::kNone);
}

}  // namespace

void handle_offset_commit(BrokerShard& here, Request& request) {
  auto* asked = request.decode<OffsetCommitRequest>();
  if (asked == nullptr) return;
  auto& committing = request.make_state<Committing>(request, *asked);
  request.state = &committing;
  sort_out(here, committing);
  if (!authorize(request, Operation::kRead, ResourceType::kGroup, asked->group_id))
    return respond_error(committing, ErrorCode::kGroupAuthorizationFailed);
  if (committing.accepted.empty()) return committing.done(ErrorCode::kNone);
  if (!group::go_to_coordinator(here, request, asked->group_id, &commit))
    committing.done(ErrorCode::kNotCoordinator);
}

}  // namespace pelton::broker
