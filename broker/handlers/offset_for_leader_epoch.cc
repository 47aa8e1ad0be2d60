// OffsetForLeaderEpoch: where a leader epoch ended, so that a client can find out that its log diverged.

#include "proto/messages/offset_for_leader_epoch.h"

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/handlers.h"
#include "broker/leader_epoch.h"
#include "broker/partition_set.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::OffsetForLeaderEpochRequest;
using proto::OffsetForLeaderEpochResponse;

struct EpochSlot : FanOut<EpochSlot>::SlotBase {
  Uuid topic_id;
  int32_t index = 0;
  int32_t current_leader_epoch = -1;
  int32_t leader_epoch = -1;
  ErrorCode error = ErrorCode::kNone;
  storage::EpochEnd end;
};

struct EpochState {
  const OffsetForLeaderEpochRequest* asked;
  std::span<EpochSlot> slots;
};

bool look_up(BrokerShard& here, EpochSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  slot.error = partition->log().failed()
                   ? ErrorCode::kKafkaStorageError
                   : check_leader_epoch(slot.current_leader_epoch, partition->leader_epoch());
  if (slot.error == ErrorCode::kNone) slot.end = partition->log().end_of_epoch(slot.leader_epoch);
  return true;
}

void respond(BrokerShard&, Request& request) {
  auto& epochs = *static_cast<EpochState*>(request.state);
  auto topics = request.arena().array<OffsetForLeaderEpochResponse::OffsetForLeaderTopicResult>(
      epochs.asked->topics.size());
  size_t next = 0;
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& asked = epochs.asked->topics[i];
    topics[i].topic = asked.topic;
    topics[i].partitions = request.arena().array<OffsetForLeaderEpochResponse::EpochEndOffset>(
        asked.partitions.size());
    for (auto& answer : topics[i].partitions) {
      const EpochSlot& slot = epochs.slots[next++];
      answer.partition = slot.index;
      answer.error_code = static_cast<int16_t>(slot.error);
      answer.leader_epoch = slot.end.leader_epoch;
      answer.end_offset = slot.end.end_offset;
    }
  }
  OffsetForLeaderEpochResponse response;
  response.topics = topics;
  request.respond(response);
}

void locate(BrokerShard& here, Request& request, std::string_view topic, EpochSlot& slot) {
  if (!authorize(request, Operation::kDescribe, ResourceType::kTopic, topic)) {
    slot.error = ErrorCode::kTopicAuthorizationFailed;
    return;
  }
  const PartitionInfo* info = here.catalog->find_partition(topic, slot.index);
  if (info == nullptr) {
    slot.error = ErrorCode::kUnknownTopicOrPartition;
    return;
  }
  slot.topic_id = here.catalog->find(topic)->id;
  slot.shard = info->shard;
}

}  // namespace

void handle_offset_for_leader_epoch(BrokerShard& here, Request& request) {
  auto* asked = request.decode<OffsetForLeaderEpochRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topics) count += topic.partitions.size();
  auto slots = request.make_states<EpochSlot>(count);
  request.state = &request.make_state<EpochState>(EpochState{asked, slots});
  size_t next = 0;
  for (const auto& topic : asked->topics) {
    for (const auto& partition : topic.partitions) {
      EpochSlot& slot = slots[next++];
      slot.index = partition.partition;
      slot.current_leader_epoch = partition.current_leader_epoch;
      slot.leader_epoch = partition.leader_epoch;
      locate(here, request, topic.topic, slot);
    }
  }
  request.make_state<FanOut<EpochSlot>>(here, request, &look_up, &respond).start(slots);
}

}  // namespace pelton::broker
