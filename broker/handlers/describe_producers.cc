// DescribeProducers: what partitions know of their producers, for whoever looks for hanging transactions.

#include "proto/messages/describe_producers.h"

#include <atomic>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/topic_changes.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/partition_set.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DescribeProducersRequest;
using proto::DescribeProducersResponse;
using proto::ErrorCode;

// Shared by the slots of one request on every shard: a partition may be named any number of times.
using Room = std::atomic<int64_t>;

struct ProducersSlot : FanOut<ProducersSlot>::SlotBase {
  Uuid topic_id;
  int32_t index = 0;
  ErrorCode error = ErrorCode::kNone;
  std::string_view message;
  std::vector<storage::ActiveProducer> producers;
  Room* room = nullptr;
};

struct ProducersState {
  const DescribeProducersRequest* asked;
  std::span<ProducersSlot> slots;
  Room room{static_cast<int64_t>(kMaxAnswerBytes)};

  ProducersState(const DescribeProducersRequest* its_asked, std::span<ProducersSlot> its_slots)
      : asked(its_asked), slots(its_slots) {}
};

bool look_up(BrokerShard& here, ProducersSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  if (partition->log().failed()) {
    slot.error = ErrorCode::kKafkaStorageError;
    return true;
  }
  constexpr size_t kBytesEach =
      sizeof(storage::ActiveProducer) + sizeof(DescribeProducersResponse::ProducerState);
  auto bytes = static_cast<int64_t>(partition->log().producer_count() * kBytesEach);
  if (slot.room->fetch_sub(bytes) < bytes) {
    slot.error = ErrorCode::kInvalidRequest;
    slot.message = "the answer would be too large";
    return true;
  }
  slot.producers = partition->log().active_producers();
  return true;
}

void fill(Request& request, const ProducersSlot& slot,
          DescribeProducersResponse::PartitionResponse& answer) {
  answer.partition_index = slot.index;
  answer.error_code = static_cast<int16_t>(slot.error);
  if (!slot.message.empty()) answer.error_message = slot.message;
  auto producers =
      request.arena().array<DescribeProducersResponse::ProducerState>(slot.producers.size());
  for (size_t i = 0; i < producers.size(); ++i) {
    const storage::ActiveProducer& from = slot.producers[i];
    producers[i] = {.producer_id = proto::ProducerId(from.producer_id),
                    .producer_epoch = from.epoch,
                    .last_sequence = from.last_sequence,
                    .last_timestamp = from.last_timestamp,
                    .coordinator_epoch = from.coordinator_epoch,
                    .current_txn_start_offset = from.transaction_first_offset};
  }
  answer.active_producers = producers;
}

void respond(BrokerShard&, Request& request) {
  auto& state = *static_cast<ProducersState*>(request.state);
  const auto& asked = state.asked->topics;
  auto topics = request.arena().array<DescribeProducersResponse::TopicResponse>(asked.size());
  size_t next = 0;
  for (size_t i = 0; i < topics.size(); ++i) {
    topics[i].name = asked[i].name;
    topics[i].partitions = request.arena().array<DescribeProducersResponse::PartitionResponse>(
        asked[i].partition_indexes.size());
    for (auto& answer : topics[i].partitions) fill(request, state.slots[next++], answer);
  }
  DescribeProducersResponse response;
  response.topics = topics;
  request.respond(response);
}

void refuse(ProducersSlot& slot, ErrorCode error, std::string_view message = {}) {
  slot.error = error;
  slot.message = message;
}

void locate(BrokerShard& here, Request& request, std::string_view topic, ProducersSlot& slot) {
  if (!check_topic_name(topic).empty()) {
    return refuse(slot, ErrorCode::kInvalidTopicException, "the topic name is invalid");
  }
  if (!authorize(request, Operation::kRead, ResourceType::kTopic, topic)) {
    return refuse(slot, ErrorCode::kTopicAuthorizationFailed, "not authorized to read the topic");
  }
  const TopicInfo* info = here.catalog->find(topic);
  if (info == nullptr) {
    return refuse(slot, ErrorCode::kUnknownTopicOrPartition, "there is no such topic");
  }
  const PartitionInfo* partition = here.catalog->find_partition(topic, slot.index);
  if (partition == nullptr) return refuse(slot, ErrorCode::kUnknownTopicOrPartition);
  slot.topic_id = info->id;
  slot.shard = partition->shard;
}

}  // namespace

void handle_describe_producers(BrokerShard& here, Request& request) {
  auto* asked = request.decode<DescribeProducersRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topics) count += topic.partition_indexes.size();
  auto slots = request.make_states<ProducersSlot>(count);
  auto& state = request.make_state<ProducersState>(asked, slots);
  request.state = &state;
  size_t next = 0;
  for (const auto& topic : asked->topics) {
    for (int32_t index : topic.partition_indexes) {
      ProducersSlot& slot = slots[next++];
      slot.index = index;
      slot.room = &state.room;
      locate(here, request, topic.name, slot);
    }
  }
  request.make_state<FanOut<ProducersSlot>>(here, request, &look_up, &respond).start(slots);
}

}  // namespace pelton::broker
