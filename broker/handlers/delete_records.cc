// DeleteRecords: raises log starts. Readers see it at once; the client is answered when it is on stable
// storage, so that a crash does not bring the records back.

#include "proto/messages/delete_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "broker/broker_shard.h"
#include "broker/catalog/writer.h"
#include "broker/checkpoints.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/partition_set.h"
#include "broker/request.h"
#include "storage/log_start_checkpoint.h"

namespace pelton::broker {
namespace {

using proto::DeleteRecordsRequest;
using proto::DeleteRecordsResponse;
using proto::ErrorCode;

constexpr int64_t kHighWatermark = -1;

struct RecordsSlot : FanOut<RecordsSlot>::SlotBase {
  std::string_view topic;
  Uuid topic_id;
  int32_t index = 0;
  int64_t offset = 0;
  ErrorCode error = ErrorCode::kNone;
  storage::PartitionCheckpoint line;  // after the log start was raised
};

struct RecordsState : storage::LogStartWaiter {
  Request* request = nullptr;
  // A partition that is named again counts once, with its last offset; topics come together.
  std::map<std::pair<std::string_view, int32_t>, RecordsSlot*> by_partition;
  std::span<RecordsSlot> slots;
};

ErrorCode raise(Partition& partition, int64_t offset) {
  const storage::LogConfig& config = partition.config();
  if (partition.log().failed()) return ErrorCode::kKafkaStorageError;
  if (config.compact_policy && !config.delete_policy) return ErrorCode::kPolicyViolation;
  if (offset == kHighWatermark) offset = partition.high_watermark().offset;
  if (offset < 0 || offset > partition.high_watermark().offset) return ErrorCode::kOffsetOutOfRange;
  partition.raise_log_start(offset);
  return ErrorCode::kNone;
}

bool raise_slot(BrokerShard& here, RecordsSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  slot.error = raise(*partition, slot.offset);
  if (slot.error == ErrorCode::kNone) slot.line = checkpoint_of(*partition);
  return true;
}

void respond(Request& request) {
  auto& state = *static_cast<RecordsState*>(request.state);
  proto::Arena& arena = request.arena();
  size_t count = state.by_partition.size();
  auto topics = arena.array<DeleteRecordsResponse::DeleteRecordsTopicResult>(count);
  auto partitions = arena.array<DeleteRecordsResponse::DeleteRecordsPartitionResult>(count);
  size_t topic_count = 0, told = 0;
  for (const auto& [key, slot] : state.by_partition) {
    auto& answer = partitions[told];
    answer.partition_index = slot->index;
    answer.error_code = proto::wire(slot->error);
    answer.low_watermark = slot->error == ErrorCode::kNone ? slot->line.log_start_offset : -1;
    bool new_topic = topic_count == 0 || topics[topic_count - 1].name != slot->topic;
    if (new_topic) topics[topic_count++] = {.name = slot->topic, .partitions = partitions.subspan(told, 0)};
    auto& row = topics[topic_count - 1].partitions;
    row = {row.data(), row.size() + 1};
    ++told;
  }
  DeleteRecordsResponse response;
  response.topics = topics.first(topic_count);
  request.respond(response);
}

void on_durable(void* owner, Status outcome) {
  auto& state = *static_cast<RecordsState*>(owner);
  if (!outcome) {
    for (RecordsSlot& slot : state.slots)
      if (slot.error == ErrorCode::kNone) slot.error = ErrorCode::kKafkaStorageError;
  }
  respond(*state.request);
}

// On the catalog's shard, which writes the checkpoints.
void make_durable(BrokerShard& here, Request& request) {
  auto& state = *static_cast<RecordsState*>(request.state);
  std::shared_ptr<const CatalogSnapshot> catalog = here.catalog_writer->snapshot();
  for (const RecordsSlot& slot : state.slots) {
    // A line of a topic that was deleted meanwhile would be taken for that of a later one of its name.
    if (slot.error != ErrorCode::kNone || catalog->find(slot.line.topic_id) == nullptr) continue;
    here.log_dir.note_log_start(slot.line);
  }
  state.owner = &state;
  state.done = &on_durable;
  here.log_starts->wait(state);
}

void raised(BrokerShard&, Request& request) {
  auto& state = *static_cast<RecordsState*>(request.state);
  bool any = std::ranges::any_of(state.slots, [](const RecordsSlot& slot) {
    return slot.error == ErrorCode::kNone && slot.line.log_start_offset > 0;
  });
  if (!any) return respond(request);
  request.hop(kCatalogShard, &make_durable);
}

void locate(BrokerShard& here, Request& request, RecordsSlot& slot) {
  if (!authorize(request, Operation::kDelete, ResourceType::kTopic, slot.topic)) {
    slot.error = ErrorCode::kTopicAuthorizationFailed;
    return;
  }
  const PartitionInfo* partition = here.catalog->find_partition(slot.topic, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kUnknownTopicOrPartition;
    return;
  }
  const TopicInfo* info = here.catalog->find(slot.topic);
  if (info->internal) {
    slot.error = ErrorCode::kInvalidTopicException;
    return;
  }
  slot.topic_id = info->id;
  slot.shard = partition->shard;
}

}  // namespace

void handle_delete_records(BrokerShard& here, Request& request) {
  auto* asked = request.decode<DeleteRecordsRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topics) count += topic.partitions.size();
  if (!answer_has_room(request.arena(), count * sizeof(RecordsSlot)))
    return request.close_connection("a DeleteRecords request of too many partitions");
  auto& state = request.make_state<RecordsState>();
  request.state = &state;
  state.request = &request;
  state.slots = request.make_states<RecordsSlot>(count);
  size_t used = 0;
  for (const auto& topic : asked->topics) {
    for (const auto& partition : topic.partitions) {
      auto [known, added] =
          state.by_partition.try_emplace({topic.name, partition.partition_index}, &state.slots[used]);
      if (added) ++used;
      RecordsSlot& slot = *known->second;
      slot.topic = topic.name;
      slot.index = partition.partition_index;
      slot.offset = partition.offset;
    }
  }
  state.slots = state.slots.first(used);
  for (RecordsSlot& slot : state.slots) locate(here, request, slot);
  request.make_state<FanOut<RecordsSlot>>(here, request, &raise_slot, &raised).start(state.slots);
}

}  // namespace pelton::broker
