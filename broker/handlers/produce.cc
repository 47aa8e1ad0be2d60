// Produce: checks each partition's batch on the connection's shard, appends on the owner's, answers when
// the batches are written (acks=1) or committed (acks=all).

#include "proto/messages/produce.h"

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/handlers.h"
#include "broker/partition_set.h"
#include "broker/request.h"
#include "proto/batch.h"
#include "proto/batch_error.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::ProduceRequest;
using proto::ProduceResponse;

constexpr int16_t kFirstVersionWithTopicIds = 13;
constexpr int16_t kFirstVersionWithZstd = 7;
// May write to internal topics: Apache Kafka's own tools use it.
constexpr std::string_view kAdminClientId = "__admin_client";

struct ProduceSlot : FanOut<ProduceSlot>::SlotBase {
  Uuid topic_id;
  int32_t index = 0;
  int16_t acks = 0;
  MutableBytes batch;
  ErrorCode error = ErrorCode::kNone;
  std::string_view message;
  storage::AppendResult appended;
  int64_t log_start_offset = -1;
  CommitWaiter waiter;
};

struct ProduceState {
  const ProduceRequest* asked;
  std::span<ProduceSlot> slots;
};

void refuse(ProduceSlot& slot, ErrorCode error, std::string_view message = {}) {
  slot.shard = kNoShard;
  slot.error = error;
  slot.message = message;
}

// The error leaves the log's start offset in the answer, as Apache Kafka's does when it validates a batch
// at the log; not so when the bytes are no batch at all.
bool found_at_the_log(proto::BatchError error) {
  switch (error) {
    case proto::BatchError::kTooShort:
    case proto::BatchError::kBadLength:
    case proto::BatchError::kLengthMismatch:
    case proto::BatchError::kOldMagic:
    case proto::BatchError::kBadMagic:
    case proto::BatchError::kCrcMismatch:
      return false;
    default:
      return true;
  }
}

// Bytes behind the batch that are no batch are passed over, as Apache Kafka does; a second batch is not.
void drop_trailing_bytes(ProduceSlot& slot) {
  auto size = proto::peek_batch_size(slot.batch);
  if (!size || *size >= slot.batch.size()) return;
  auto next = proto::peek_batch_size(slot.batch.subspan(*size));
  size_t left = slot.batch.size() - *size;
  if (left < proto::kBatchMagicEnd || (next && *next > left)) slot.batch = slot.batch.first(*size);
}

// What can be said of the batch without its log.
void check_batch(ProduceSlot& slot, int16_t version) {
  drop_trailing_bytes(slot);
  auto batch = proto::validate(slot.batch);
  if (!batch) {
    slot.error = proto::error_code_of(batch.error());
    slot.message = to_string(batch.error());
    if (!found_at_the_log(batch.error())) slot.shard = kNoShard;
    return;
  }
  if (batch->codec() == proto::Codec::kZstd && version < kFirstVersionWithZstd)
    return refuse(slot, ErrorCode::kUnsupportedCompressionType,
                  "zstd needs a Produce request of version 7 or higher");
  if (batch->transactional())
    return refuse(slot, ErrorCode::kInvalidTxnState, "no transaction is open for this producer");
}

void locate(BrokerShard& here, Request& request, const ProduceRequest::TopicProduceData& topic,
            ProduceSlot& slot) {
  bool by_id = request.version() >= kFirstVersionWithTopicIds;
  const TopicInfo* info =
      by_id ? here.catalog->find(topic.topic_id) : here.catalog->find(topic.name);
  if (info == nullptr)
    return refuse(slot, by_id ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition);
  if (!authorize(request, Operation::kWrite, ResourceType::kTopic, info->name))
    return refuse(slot, ErrorCode::kTopicAuthorizationFailed);
  if (info->internal && request.client_id() != kAdminClientId)
    return refuse(slot, ErrorCode::kInvalidTopicException, "the topic is internal to the broker");
  if (slot.index < 0 || static_cast<size_t>(slot.index) >= info->partitions.size())
    return refuse(slot, ErrorCode::kUnknownTopicOrPartition);
  slot.topic_id = info->id;
  slot.shard = info->partitions[static_cast<size_t>(slot.index)].shard;
}

void on_append_done(void* owner, ErrorCode error) {
  auto* slot = static_cast<ProduceSlot*>(owner);
  slot->error = error;
  FanOut<ProduceSlot>::finish(*slot);
}

bool append(BrokerShard& here, ProduceSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  if (slot.error != ErrorCode::kNone) {
    slot.log_start_offset = partition->log().log_start_offset();
    return true;
  }
  if (slot.batch.size() > static_cast<size_t>(partition->config().max_message_bytes)) {
    slot.error = ErrorCode::kMessageTooLarge;
    slot.message = "the batch is larger than max.message.bytes";
    return true;
  }
  // A client has no say in this on a CreateTime topic.
  if (!partition->config().log_append_time && proto::BatchView(slot.batch).log_append_time())
    proto::clear_log_append_time(slot.batch);
  slot.appended = partition->append(slot.batch, storage::AppendOrigin::kClient,
                                    here.shard.loop().wall_ms());
  slot.error = slot.appended.error;
  slot.log_start_offset = partition->log().log_start_offset();
  if (slot.error != ErrorCode::kNone) return true;
  slot.waiter.offset = slot.appended.last_offset + 1;
  slot.waiter.owner = &slot;
  slot.waiter.done = &on_append_done;
  if (slot.acks == -1) {
    partition->wait_committed(slot.waiter);
  } else {
    // acks=0 waits too: the batch lies in the request's frame until it is written.
    partition->wait_written(slot.waiter);
  }
  return false;
}

// A transactional batch in a request without a transactional id: the whole request is refused, as Apache
// Kafka does, since there is nobody to authorize.
bool has_stray_transactional(const ProduceRequest& asked) {
  if (asked.transactional_id) return false;
  for (const auto& topic : asked.topic_data)
    for (const auto& partition : topic.partition_data)
      if (partition.records.bytes.size() >= proto::kBatchHeaderSize &&
          proto::BatchView(partition.records.bytes).transactional())
        return true;
  return false;
}

void fill(ProduceResponse::PartitionProduceResponse& answer, const ProduceSlot& slot) {
  answer.index = slot.index;
  answer.error_code = static_cast<int16_t>(slot.error);
  answer.base_offset = -1;
  answer.log_start_offset = slot.log_start_offset;
  if (slot.error == ErrorCode::kNone) {
    answer.base_offset = slot.appended.base_offset;
    answer.log_append_time_ms = slot.appended.log_append_time;
  } else if (!slot.message.empty()) {
    answer.error_message = slot.message;
  }
}

void respond(BrokerShard&, Request& request) {
  auto& produce = *static_cast<ProduceState*>(request.state);
  if (produce.asked->acks == 0) {
    // There is no answer to carry an error: the end of the connection makes the client look again.
    for (const ProduceSlot& slot : produce.slots)
      if (slot.error != ErrorCode::kNone) return request.close_connection("error on acks=0");
    return request.respond_nothing();
  }
  auto topics = request.arena().array<ProduceResponse::TopicProduceResponse>(
      produce.asked->topic_data.size());
  size_t next = 0;
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& asked = produce.asked->topic_data[i];
    topics[i].name = asked.name;
    topics[i].topic_id = asked.topic_id;
    topics[i].partition_responses =
        request.arena().array<ProduceResponse::PartitionProduceResponse>(asked.partition_data.size());
    for (auto& answer : topics[i].partition_responses) fill(answer, produce.slots[next++]);
  }
  ProduceResponse response;
  response.responses = topics;
  request.respond(response);
}

}  // namespace

void handle_produce(BrokerShard& here, Request& request) {
  auto* asked = request.decode<ProduceRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topic_data) count += topic.partition_data.size();
  auto slots = request.make_states<ProduceSlot>(count);
  request.state = &request.make_state<ProduceState>(ProduceState{asked, slots});
  ErrorCode whole = ErrorCode::kNone;
  if (has_stray_transactional(*asked)) whole = ErrorCode::kTransactionalIdAuthorizationFailed;
  if (asked->acks < -1 || asked->acks > 1) whole = ErrorCode::kInvalidRequiredAcks;
  size_t next = 0;
  for (const auto& topic : asked->topic_data) {
    for (const auto& partition : topic.partition_data) {
      ProduceSlot& slot = slots[next++];
      slot.index = partition.index;
      slot.acks = asked->acks;
      if (whole != ErrorCode::kNone) {
        slot.error = whole;
        continue;
      }
      locate(here, request, topic, slot);
      if (slot.shard == kNoShard) continue;
      Bytes records = partition.records.bytes;
      size_t at = records.empty() ? 0 : static_cast<size_t>(records.data() - request.body().data());
      slot.batch = request.body().subspan(at, records.size());
      check_batch(slot, request.version());
    }
  }
  request.make_state<FanOut<ProduceSlot>>(here, request, &append, &respond).start(slots);
}

}  // namespace pelton::broker
