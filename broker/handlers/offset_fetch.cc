// OffsetFetch: the committed offsets of one group (before version 8) or several, visited one after
// another on the shards that coordinate them. A group is answered when everything that was written
// before the answer is committed: nobody sees an offset that a crash takes back.

#include "proto/messages/offset_fetch.h"

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
using proto::OffsetFetchRequest;
using proto::OffsetFetchResponse;
using RequestGroup = OffsetFetchRequest::OffsetFetchRequestGroup;
using RequestTopic = OffsetFetchRequest::OffsetFetchRequestTopics;
using ResponseGroup = OffsetFetchResponse::OffsetFetchResponseGroup;
using ResponseTopic = OffsetFetchResponse::OffsetFetchResponseTopics;
using ResponsePartition = OffsetFetchResponse::OffsetFetchResponsePartitions;

constexpr int16_t kGroupErrorFrom = 2;
constexpr int16_t kSeveralGroupsFrom = 8;
constexpr int16_t kTopicIdsFrom = 10;

void visit_groups(BrokerShard& here, Request& request);

struct Fetching final : coordinator::Continuation {
  Fetching(Request& its_request, const OffsetFetchRequest& its_asked)
      : request(its_request), asked(its_asked) {}

  void done(ErrorCode error) override;

  Request& request;
  const OffsetFetchRequest& asked;
  std::span<ResponseGroup> answers;
  size_t at = 0;                 // the group that is being visited
  BrokerShard* shard = nullptr;  // where
  bool asking = false;           // done() is called from inside the question
  bool answered = false;
};

void fill(ResponsePartition& answer, const group::CommittedOffset* offset, proto::Arena& arena) {
  answer.committed_offset = -1;
  answer.committed_leader_epoch = -1;
  answer.metadata = "";
  if (offset == nullptr) return;
  answer.committed_offset = offset->offset;
  answer.committed_leader_epoch = offset->leader_epoch;
  if (!answer_has_room(arena, offset->metadata.size())) {
    answer.committed_offset = -1;
    answer.committed_leader_epoch = -1;
    answer.error_code = proto::wire(ErrorCode::kInvalidRequest);
    return;
  }
  answer.metadata = arena.copy(std::string_view(offset->metadata));
}

// A topic that is not answered with offsets.
void set_error(ResponseTopic& answer, ErrorCode error) {
  for (ResponsePartition& partition : answer.partitions) {
    partition.committed_offset = -1;
    partition.committed_leader_epoch = -1;
    partition.metadata = "";
    partition.error_code = proto::wire(error);
  }
}

// Offsets of a topic that was since deleted and made again under its name are not this topic's.
bool same_topic(const group::CommittedOffset& offset, Uuid asked) {
  return asked.is_zero() || offset.topic_id.is_zero() || offset.topic_id == asked;
}

void fetch_topic(Fetching& fetching, const group::OffsetStore& offsets, std::string_view group_id,
                 ResponseTopic& answer) {
  for (ResponsePartition& partition : answer.partitions) {
    const group::CommittedOffset* offset =
        offsets.find(group_id, answer.name, partition.partition_index);
    if (offset != nullptr && !same_topic(*offset, answer.topic_id)) offset = nullptr;
    fill(partition, offset, fetching.request.arena());
    bool unstable = fetching.asked.require_stable &&
                    offsets.has_pending(group_id, answer.name, partition.partition_index);
    if (!unstable) continue;
    fill(partition, nullptr, fetching.request.arena());
    partition.error_code = proto::wire(ErrorCode::kUnstableOffsetCommit);
  }
}

void set_group_error(Fetching& fetching, ResponseGroup& answer, ErrorCode error) {
  answer.error_code = proto::wire(error);
  // Old versions have no place for it but the partitions.
  if (fetching.request.version() < kGroupErrorFrom) {
    for (ResponseTopic& topic : answer.topics) set_error(topic, error);
  } else {
    answer.topics = {};
  }
}

// What a group's topics and partitions take in the arena, metadata aside.
size_t answer_bytes(const group::TopicOffsets& topics) {
  size_t bytes = 0;
  for (const auto& [name, partitions] : topics)
    bytes += sizeof(ResponseTopic) + name.size() + partitions.size() * sizeof(ResponsePartition);
  return bytes;
}

void fetch_all(BrokerShard& here, Fetching& fetching, const group::OffsetStore& offsets,
               ResponseGroup& answer) {
  const group::TopicOffsets* topics = offsets.find(answer.group_id);
  if (topics == nullptr) return;
  proto::Arena& arena = fetching.request.arena();
  if (!answer_has_room(arena, answer_bytes(*topics)))
    return set_group_error(fetching, answer, ErrorCode::kInvalidRequest);
  auto all = arena.array<ResponseTopic>(topics->size());
  size_t used = 0;
  for (const auto& [name, partitions] : *topics) {
    if (!authorize(fetching.request, Operation::kDescribe, ResourceType::kTopic, name)) continue;
    ResponseTopic& topic = all[used];
    if (fetching.request.version() >= kTopicIdsFrom) {
      const TopicInfo* info = here.catalog->find(name);
      if (info == nullptr) continue;  // without an id it cannot be named
      topic.topic_id = info->id;
    }
    ++used;
    topic.name = arena.copy(std::string_view(name));
    topic.partitions = arena.array<ResponsePartition>(partitions.size());
    size_t index = 0;
    for (const auto& [partition, offset] : partitions)
      topic.partitions[index++].partition_index = partition;
    fetch_topic(fetching, offsets, answer.group_id, topic);
  }
  answer.topics = all.first(used);
}

size_t answer_bytes(std::span<const RequestTopic> topics) {
  size_t bytes = 0;
  for (const RequestTopic& topic : topics)
    bytes += sizeof(ResponseTopic) + topic.partition_indexes.size() * sizeof(ResponsePartition);
  return bytes;
}

// The shape of the answer for topics that were asked for, with the errors that need no coordinator.
void prepare_topic(BrokerShard& here, Request& request, const RequestTopic& asked,
                   ResponseTopic& answer) {
  answer.name = asked.name;
  answer.topic_id = asked.topic_id;
  answer.partitions = request.arena().array<ResponsePartition>(asked.partition_indexes.size());
  for (size_t i = 0; i < answer.partitions.size(); ++i)
    answer.partitions[i].partition_index = asked.partition_indexes[i];
  if (request.version() >= kTopicIdsFrom) {
    const TopicInfo* topic = here.catalog->find(asked.topic_id);
    if (topic == nullptr) return set_error(answer, ErrorCode::kUnknownTopicId);
    answer.name = request.arena().copy(std::string_view(topic->name));
  }
  if (!authorize(request, Operation::kDescribe, ResourceType::kTopic, answer.name))
    set_error(answer, ErrorCode::kTopicAuthorizationFailed);
}

bool has_error(const ResponseTopic& topic) {
  return !topic.partitions.empty() && topic.partitions.front().error_code != 0;
}

void fetch_group(BrokerShard& here, Fetching& fetching, const RequestGroup& asked,
                 ResponseGroup& answer, const group::OffsetStore& offsets) {
  if (!asked.topics) return fetch_all(here, fetching, offsets, answer);
  for (ResponseTopic& topic : answer.topics) {
    if (!has_error(topic)) fetch_topic(fetching, offsets, answer.group_id, topic);
  }
}

void respond(Fetching& fetching) {
  OffsetFetchResponse response;
  if (fetching.request.version() >= kSeveralGroupsFrom) {
    response.groups = fetching.answers;
    return fetching.request.respond(response);
  }
  proto::Arena& arena = fetching.request.arena();
  const ResponseGroup& only = fetching.answers.front();
  response.error_code = only.error_code;
  response.topics = arena.array<OffsetFetchResponse::OffsetFetchResponseTopic>(only.topics.size());
  for (size_t i = 0; i < only.topics.size(); ++i) {
    auto& topic = response.topics[i];
    topic.name = only.topics[i].name;
    topic.partitions = arena.array<OffsetFetchResponse::OffsetFetchResponsePartition>(
        only.topics[i].partitions.size());
    for (size_t j = 0; j < topic.partitions.size(); ++j) {
      const ResponsePartition& from = only.topics[i].partitions[j];
      topic.partitions[j] = {.partition_index = from.partition_index,
                             .committed_offset = from.committed_offset,
                             .committed_leader_epoch = from.committed_leader_epoch,
                             .metadata = from.metadata,
                             .error_code = from.error_code};
    }
  }
  fetching.request.respond(response);
}

// Whether the group is finished; otherwise done() goes on.
bool visit_here(BrokerShard& here, Fetching& fetching) {
  ResponseGroup& answer = fetching.answers[fetching.at];
  auto found = here.groups->find(answer.group_id);
  if (found.error != ErrorCode::kNone) {
    set_group_error(fetching, answer, found.error);
    return true;
  }
  fetch_group(here, fetching, fetching.asked.groups[fetching.at], answer,
              found.coordinator->offsets());
  fetching.shard = &here;
  fetching.asking = true;
  fetching.answered = false;
  found.writer->after_pending(fetching);
  fetching.asking = false;
  return fetching.answered;
}

void Fetching::done(ErrorCode error) {
  if (error != ErrorCode::kNone) set_group_error(*this, answers[at], error);
  answered = true;
  if (asking) return;
  ++at;
  visit_groups(*shard, request);
}

void visit_groups(BrokerShard& here, Request& request) {
  auto& fetching = *static_cast<Fetching*>(request.state);
  for (; fetching.at < fetching.answers.size(); ++fetching.at) {
    ResponseGroup& answer = fetching.answers[fetching.at];
    if (answer.error_code != 0) continue;
    auto place = group::coordinator_place(*here.catalog, answer.group_id);
    if (!place) {
      set_group_error(fetching, answer, ErrorCode::kNotCoordinator);
    } else if (place->shard != here.shard.id()) {
      return request.hop(place->shard, &visit_groups);
    } else if (!visit_here(here, fetching)) {
      return;
    }
  }
  respond(fetching);
}

// Before version 8: one group, and topics of another type.
void make_group(Request& request, OffsetFetchRequest& asked) {
  asked.groups = request.arena().array<RequestGroup>(1);
  RequestGroup& group = asked.groups[0];
  group.group_id = asked.group_id;
  if (!asked.topics) {
    group.topics = std::nullopt;
    return;
  }
  auto topics = request.arena().array<RequestTopic>(asked.topics->size());
  for (size_t i = 0; i < topics.size(); ++i) {
    topics[i].name = (*asked.topics)[i].name;
    topics[i].partition_indexes = (*asked.topics)[i].partition_indexes;
  }
  group.topics = topics;
}

}  // namespace

void handle_offset_fetch(BrokerShard& here, Request& request) {
  auto* asked = request.decode<OffsetFetchRequest>();
  if (asked == nullptr) return;
  if (request.version() < kSeveralGroupsFrom) make_group(request, *asked);
  auto& fetching = request.make_state<Fetching>(request, *asked);
  request.state = &fetching;
  fetching.answers = request.arena().array<ResponseGroup>(asked->groups.size());
  for (size_t i = 0; i < asked->groups.size(); ++i) {
    const RequestGroup& group = asked->groups[i];
    ResponseGroup& answer = fetching.answers[i];
    answer.group_id = group.group_id;
    if (group.topics && !answer_has_room(request.arena(), answer_bytes(*group.topics))) {
      answer.error_code = proto::wire(ErrorCode::kInvalidRequest);
    } else if (group.topics) {
      answer.topics = request.arena().array<ResponseTopic>(group.topics->size());
      for (size_t j = 0; j < answer.topics.size(); ++j)
        prepare_topic(here, request, (*group.topics)[j], answer.topics[j]);
    }
    if (!authorize(request, Operation::kDescribe, ResourceType::kGroup, group.group_id))
      set_group_error(fetching, answer, ErrorCode::kGroupAuthorizationFailed);
  }
  visit_groups(here, request);
}

}  // namespace pelton::broker
