// OffsetFetch: the committed offsets of one group (before version 8) or several, each visited on the shard
// that coordinates it. A group is answered when everything that was written before the answer is committed:
// nobody sees an offset that a crash takes back.

#include "proto/messages/offset_fetch.h"

#include "broker/authorize.h"
#include "broker/broker_shard.h"
#include "broker/group/group_shard.h"
#include "broker/group/group_walk.h"
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

// So many partitions are looked up in one turn.
constexpr size_t kPartitionsPerTurn = 10'000;

class Fetching final : public group::GroupWalk {
 public:
  Fetching(Request& its_request, const OffsetFetchRequest& its_asked)
      : GroupWalk(its_request), asked(its_asked) {}

  const OffsetFetchRequest& asked;
  std::span<ResponseGroup> answers;
  void set_error(ResponseGroup& answer, ErrorCode error);

 private:
  Step visit(BrokerShard& here, Item& item) override;
  void committed(size_t index, ErrorCode error) override {
    if (error != ErrorCode::kNone) set_error(answers[index], error);
  }
  void finish() override;

  // False: there are more, for a later turn.
  bool fetch_asked(BrokerShard& here, const group::OffsetStore& offsets, ResponseGroup& answer);
  void fetch_all(BrokerShard& here, const group::OffsetStore& offsets, ResponseGroup& answer);
  void fetch_partition(const group::OffsetStore& offsets, std::string_view group_id,
                       std::string_view topic, Uuid topic_id, ResponsePartition& answer);

  size_t topic_at_ = 0;      // in the group that is being visited
  size_t partition_at_ = 0;
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
void set_topic_error(ResponseTopic& answer, ErrorCode error) {
  for (ResponsePartition& partition : answer.partitions) {
    partition.committed_offset = -1;
    partition.committed_leader_epoch = -1;
    partition.metadata = "";
    partition.error_code = proto::wire(error);
  }
}

// Offsets of a topic that was since deleted and made again under its name are not this topic's. Either id
// may be zero: not known.
bool same_topic(Uuid committed, Uuid present) {
  return committed.is_zero() || present.is_zero() || committed == present;
}

bool has_error(const ResponseTopic& topic) {
  return !topic.partitions.empty() && topic.partitions.front().error_code != 0;
}

void Fetching::set_error(ResponseGroup& answer, ErrorCode error) {
  answer.error_code = proto::wire(error);
  // Old versions have no place for it but the partitions.
  if (request().version() < kGroupErrorFrom) {
    for (ResponseTopic& topic : answer.topics) set_topic_error(topic, error);
  } else {
    answer.topics = {};
  }
}

void Fetching::fetch_partition(const group::OffsetStore& offsets, std::string_view group_id,
                               std::string_view topic, Uuid topic_id, ResponsePartition& answer) {
  const group::CommittedOffset* offset = offsets.find(group_id, topic, answer.partition_index);
  if (offset != nullptr && !same_topic(offset->topic_id, topic_id)) offset = nullptr;
  fill(answer, offset, request().arena());
  if (!asked.require_stable || !offsets.has_pending(group_id, topic, answer.partition_index)) return;
  fill(answer, nullptr, request().arena());
  answer.error_code = proto::wire(ErrorCode::kUnstableOffsetCommit);
}

bool Fetching::fetch_asked(BrokerShard& here, const group::OffsetStore& offsets, ResponseGroup& answer) {
  size_t left = kPartitionsPerTurn;
  for (; topic_at_ < answer.topics.size(); ++topic_at_, partition_at_ = 0) {
    ResponseTopic& topic = answer.topics[topic_at_];
    if (has_error(topic)) continue;
    const TopicInfo* present = here.catalog->find(topic.name);
    Uuid topic_id = present == nullptr ? topic.topic_id : present->id;
    for (; partition_at_ < topic.partitions.size(); ++partition_at_) {
      if (left-- == 0) return false;
      fetch_partition(offsets, answer.group_id, topic.name, topic_id, topic.partitions[partition_at_]);
    }
  }
  return true;
}

// What a group's topics and partitions take in the arena, metadata aside.
size_t answer_bytes(const group::TopicOffsets& topics) {
  size_t bytes = 0;
  for (const auto& [name, partitions] : topics)
    bytes += sizeof(ResponseTopic) + name.size() + partitions.size() * sizeof(ResponsePartition);
  return bytes;
}

void Fetching::fetch_all(BrokerShard& here, const group::OffsetStore& offsets, ResponseGroup& answer) {
  const group::TopicOffsets* topics = offsets.find(answer.group_id);
  if (topics == nullptr) return;
  proto::Arena& arena = request().arena();
  if (!answer_has_room(arena, answer_bytes(*topics))) return set_error(answer, ErrorCode::kInvalidRequest);
  auto all = arena.array<ResponseTopic>(topics->size());
  size_t used = 0;
  for (const auto& [name, partitions] : *topics) {
    if (!authorize(request(), Operation::kDescribe, ResourceType::kTopic, name)) continue;
    const TopicInfo* present = here.catalog->find(name);
    ResponseTopic& topic = all[used];
    if (request().version() >= kTopicIdsFrom) {
      if (present == nullptr) continue;  // without an id it cannot be named
      topic.topic_id = present->id;
    }
    topic.name = arena.copy(std::string_view(name));
    topic.partitions = arena.array<ResponsePartition>(partitions.size());
    size_t kept = 0;
    for (const auto& [partition, offset] : partitions) {
      if (present != nullptr && !same_topic(offset.topic_id, present->id)) continue;
      ResponsePartition& row = topic.partitions[kept++];
      row.partition_index = partition;
      fetch_partition(offsets, answer.group_id, name, Uuid(), row);
    }
    topic.partitions = topic.partitions.first(kept);
    if (kept > 0) ++used;
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
    if (topic == nullptr) return set_topic_error(answer, ErrorCode::kUnknownTopicId);
    answer.name = request.arena().copy(std::string_view(topic->name));
  }
  if (!authorize(request, Operation::kDescribe, ResourceType::kTopic, answer.name))
    set_topic_error(answer, ErrorCode::kTopicAuthorizationFailed);
}

Fetching::Step Fetching::visit(BrokerShard& here, Item& item) {
  ResponseGroup& answer = answers[item.index()];
  auto found = here.groups->find(answer.group_id);
  if (found.error != ErrorCode::kNone) {
    set_error(answer, found.error);
  } else if (!asked.groups[item.index()].topics) {
    fetch_all(here, found.coordinator->offsets(), answer);
  } else if (!fetch_asked(here, found.coordinator->offsets(), answer)) {
    return Step::kAgain;
  }
  topic_at_ = partition_at_ = 0;
  if (found.error == ErrorCode::kNone) found.writer->after_pending(item.wait());
  return Step::kDone;
}

void Fetching::finish() {
  OffsetFetchResponse response;
  if (request().version() >= kSeveralGroupsFrom) {
    response.groups = answers;
    return request().respond(response);
  }
  proto::Arena& arena = request().arena();
  const ResponseGroup& only = answers.front();
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
  request().respond(response);
}

void prepare_topics(BrokerShard& here, Request& request, std::span<const RequestTopic> asked,
                    ResponseGroup& answer) {
  answer.topics = request.arena().array<ResponseTopic>(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) prepare_topic(here, request, asked[i], answer.topics[i]);
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
  if (!answer_has_room(request.arena(), asked->groups.size() * sizeof(ResponseGroup)))
    return request.close_connection("too many groups in one request");
  auto& fetching = request.make_state<Fetching>(request, *asked);
  fetching.answers = request.arena().array<ResponseGroup>(asked->groups.size());
  fetching.expect(asked->groups.size());
  for (size_t i = 0; i < asked->groups.size(); ++i) {
    const RequestGroup& group = asked->groups[i];
    ResponseGroup& answer = fetching.answers[i];
    answer.group_id = group.group_id;
    bool has_room = !group.topics || answer_has_room(request.arena(), answer_bytes(*group.topics));
    if (has_room && group.topics) prepare_topics(here, request, *group.topics, answer);
    if (!authorize(request, Operation::kDescribe, ResourceType::kGroup, group.group_id)) {
      fetching.set_error(answer, ErrorCode::kGroupAuthorizationFailed);
    } else if (!has_room) {
      fetching.set_error(answer, ErrorCode::kInvalidRequest);
    } else if (!fetching.add(here, i, group.group_id)) {
      fetching.set_error(answer, ErrorCode::kNotCoordinator);
    }
  }
  fetching.start(here);
}

}  // namespace pelton::broker
