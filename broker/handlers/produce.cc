// Produce: looks at each partition's batch on the connection's shard (large compressed ones on a helper
// thread), appends on the owner's, answers when the batches are written (acks=1) or committed (acks=all).

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/handlers/handlers.h"
#include "broker/produce/batch_check.h"
#include "broker/produce/produce_answer.h"
#include "broker/produce/produce_append.h"
#include "broker/produce/produce_job.h"
#include "broker/produce/produce_shard.h"
#include "broker/produce/produce_state.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::ErrorCode;
using proto::ProduceRequest;

constexpr int16_t kFirstVersionWithTopicIds = 13;
// May write to internal topics: Apache Kafka's own tools use it.
constexpr std::string_view kAdminClientId = "__admin_client";
// A request of empty entries would otherwise take fifty times its size.
constexpr size_t kMostPartitions = 100'000;

void locate(BrokerShard& here, Request& request, const ProduceRequest::TopicProduceData& topic,
            ProduceSlot& slot) {
  bool by_id = request.version() >= kFirstVersionWithTopicIds;
  const TopicInfo* info =
      by_id ? here.catalog->find(topic.topic_id) : here.catalog->find(topic.name);
  if (info == nullptr)
    return slot.refuse(by_id ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition);
  if (!authorize(request, Operation::kWrite, ResourceType::kTopic, info->name))
    return slot.refuse(ErrorCode::kTopicAuthorizationFailed);
  if (info->internal && request.client_id() != kAdminClientId)
    return slot.refuse(ErrorCode::kInvalidTopicException, "the topic is internal to the broker");
  if (slot.index < 0 || static_cast<size_t>(slot.index) >= info->partitions.size())
    return slot.refuse(ErrorCode::kUnknownTopicOrPartition);
  slot.topic = info;
  slot.topic_id = info->id;
  slot.shard = info->partitions[static_cast<size_t>(slot.index)].shard;
}

// Finds the partitions and cuts out the batches.
void locate_all(ProduceState& state) {
  size_t next = 0;
  Bytes body = state.request.body();
  for (const auto& topic : state.asked.topic_data) {
    for (const auto& partition : topic.partition_data) {
      ProduceSlot& slot = state.slots[next++];
      slot.index = partition.index;
      slot.acks = state.asked.acks;
      slot.timeout_ms = state.asked.timeout_ms;
      locate(state.home, state.request, topic, slot);
      if (slot.shard == kNoShard) continue;
      Bytes records = partition.records.bytes;
      size_t at = records.empty() ? 0 : static_cast<size_t>(records.data() - body.data());
      slot.batch = state.request.body().subspan(at, records.size());
      check_frame(slot, state.request.version());
    }
  }
}

// Bytes that are no batch of this format are not, whatever bits they have.
bool is_transactional(Bytes records) {
  auto size = proto::peek_batch_size(records);
  return size && *size <= records.size() && BatchView(records).transactional();
}

// A transactional batch in a request without a transactional id: there is nobody to authorize.
bool has_stray_transactional(const ProduceRequest& asked) {
  if (asked.transactional_id) return false;
  for (const auto& topic : asked.topic_data)
    for (const auto& partition : topic.partition_data)
      if (is_transactional(partition.records.bytes)) return true;
  return false;
}

// The transactional batches of a request belong to one producer.
bool has_several_producers(const ProduceState& state) {
  const ProduceSlot* first = nullptr;
  for (const ProduceSlot& slot : state.slots) {
    if (slot.shard == kNoShard || slot.superseded) continue;
    BatchView batch{Bytes(slot.batch)};
    if (!batch.transactional() || !batch.has_producer_id()) continue;
    if (first == nullptr) {
      first = &slot;
      continue;
    }
    BatchView other{Bytes(first->batch)};
    if (batch.producer_id() != other.producer_id() || batch.producer_epoch() != other.producer_epoch())
      return true;
  }
  return false;
}

// What concerns every batch, or the whole request.
void check_request(ProduceState& state) {
  ErrorCode whole = ErrorCode::kNone;
  std::string_view why;
  if (has_stray_transactional(state.asked)) {
    whole = ErrorCode::kTransactionalIdAuthorizationFailed;
  } else if (has_several_producers(state)) {
    whole = ErrorCode::kInvalidProducerIdMapping;
    why = "the transactional batches of a request belong to one producer";
  }
  bool acks_known = state.asked.acks >= -1 && state.asked.acks <= 1;
  for (ProduceSlot& slot : state.slots) {
    if (whole != ErrorCode::kNone) {
      slot.refuse(whole, why);
    } else if (slot.superseded) {
      slot.shard = kNoShard;
    } else if (!acks_known && slot.shard != kNoShard) {
      slot.refuse(ErrorCode::kInvalidRequiredAcks);
    }
  }
}

void check_batch(ProduceState& state, ProduceSlot& slot) {
  const storage::LogConfig& config = slot.topic->log_config;
  check_header(slot, config);
  if (slot.error != ErrorCode::kNone) return;
  prepare_slot(state, slot, config);
}

void append_all(ProduceOrder::Place& place) {
  auto& state = static_cast<ProduceState&>(place);
  state.request
      .make_state<FanOut<ProduceSlot>>(state.home, state.request, &append_slot, &answer_produce)
      .start(state.slots);
}

}  // namespace

void handle_produce(BrokerShard& here, Request& request) {
  auto* asked = request.decode<ProduceRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topic_data) count += topic.partition_data.size();
  if (count > kMostPartitions) return request.close_connection("a Produce request of too many partitions");
  auto slots = request.make_states<ProduceSlot>(count);
  auto& state = request.make_state<ProduceState>(here, request, *asked, slots);
  request.state = &state;
  state.start = &append_all;
  state.connection = request.connection().id;
  locate_all(state);
  mark_superseded(state);
  check_request(state);
  for (ProduceSlot& slot : slots)
    if (slot.shard != kNoShard) check_batch(state, slot);
  ProduceOrder& order = here.produce->order();
  if (state.pending_jobs == 0 && order.free(state.connection)) return append_all(state);
  order.enter(state);
  if (state.pending_jobs == 0) order.ready(state);
}

}  // namespace pelton::broker
