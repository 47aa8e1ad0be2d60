// WriteTxnMarkers: a transaction's coordinator ends it in the partitions that it wrote to.

#include "proto/messages/write_txn_markers.h"

#include <vector>

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/handlers.h"
#include "broker/partition_set.h"
#include "broker/request.h"
#include "proto/batch_builder.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;
using proto::WriteTxnMarkersRequest;
using proto::WriteTxnMarkersResponse;

struct MarkerSlot : FanOut<MarkerSlot>::SlotBase {
  Uuid topic_id;
  int32_t index = 0;
  const WriteTxnMarkersRequest::WritableTxnMarker* marker = nullptr;
  ErrorCode error = ErrorCode::kNone;
  std::vector<uint8_t> batch;  // until it is written
  CommitWaiter waiter;
};

struct MarkersState {
  const WriteTxnMarkersRequest* asked;
  std::span<MarkerSlot> slots;
};

std::vector<uint8_t> marker_batch(const WriteTxnMarkersRequest::WritableTxnMarker& marker, int64_t now_ms) {
  proto::BatchOptions options{.producer_id = marker.producer_id.value,
                              .producer_epoch = marker.producer_epoch,
                              .transactional = true,
                              .control = true};
  auto type = marker.transaction_result ? proto::ControlType::kCommit : proto::ControlType::kAbort;
  std::vector<uint8_t> batch;
  proto::build_end_transaction_marker(options, now_ms, type, marker.coordinator_epoch, batch);
  return batch;
}

bool append(BrokerShard& here, MarkerSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  int64_t now_ms = here.shard.loop().wall_ms();
  slot.batch = marker_batch(*slot.marker, now_ms);
  auto appended = partition->append(slot.batch, storage::AppendOrigin::kCoordinator, now_ms,
                                    slot.marker->transaction_version);
  slot.error = appended.error;
  if (slot.error != ErrorCode::kNone) return true;
  slot.waiter.offset = appended.last_offset + 1;
  slot.waiter.owner = &slot;
  slot.waiter.done = [](void* owner, ErrorCode error) {
    auto& its_slot = *static_cast<MarkerSlot*>(owner);
    its_slot.error = error;
    FanOut<MarkerSlot>::finish(its_slot);
  };
  partition->wait_committed(slot.waiter);
  return false;
}

void respond(BrokerShard&, Request& request) {
  auto& state = *static_cast<MarkersState*>(request.state);
  proto::Arena& arena = request.arena();
  auto markers = arena.array<WriteTxnMarkersResponse::WritableTxnMarkerResult>(state.asked->markers.size());
  size_t next = 0;
  for (size_t i = 0; i < markers.size(); ++i) {
    const auto& asked = state.asked->markers[i];
    markers[i].producer_id = asked.producer_id;
    auto topics = arena.array<WriteTxnMarkersResponse::WritableTxnMarkerTopicResult>(asked.topics.size());
    for (size_t each = 0; each < topics.size(); ++each) {
      topics[each].name = asked.topics[each].name;
      topics[each].partitions =
          arena.array<WriteTxnMarkersResponse::WritableTxnMarkerPartitionResult>(
              asked.topics[each].partition_indexes.size());
      for (auto& answer : topics[each].partitions) {
        const MarkerSlot& slot = state.slots[next++];
        answer.partition_index = slot.index;
        answer.error_code = proto::wire(slot.error);
      }
    }
    markers[i].topics = topics;
  }
  WriteTxnMarkersResponse response;
  response.markers = markers;
  request.respond(response);
}

void locate(BrokerShard& here, std::string_view topic, MarkerSlot& slot) {
  if (slot.marker->producer_id.value < 0 || slot.marker->producer_epoch < 0) {
    slot.error = ErrorCode::kInvalidRequest;
    return;
  }
  const TopicInfo* info = here.catalog->find(topic);
  const PartitionInfo* partition = here.catalog->find_partition(topic, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kUnknownTopicOrPartition;
    return;
  }
  // Coordinators write their partitions alone: one that takes part in transactions ends them itself.
  if (info->internal) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return;
  }
  slot.topic_id = info->id;
  slot.shard = partition->shard;
}

}  // namespace

void handle_write_txn_markers(BrokerShard& here, Request& request) {
  auto* asked = request.decode<WriteTxnMarkersRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& marker : asked->markers)
    for (const auto& topic : marker.topics) count += topic.partition_indexes.size();
  if (!answer_has_room(request.arena(), count * sizeof(MarkerSlot)))
    return request.close_connection("a WriteTxnMarkers request of too many partitions");
  auto slots = request.make_states<MarkerSlot>(count);
  request.state = &request.make_state<MarkersState>(MarkersState{asked, slots});
  bool allowed = authorize_broker(request);
  size_t next = 0;
  for (const auto& marker : asked->markers) {
    for (const auto& topic : marker.topics) {
      for (int32_t index : topic.partition_indexes) {
        MarkerSlot& slot = slots[next++];
        slot.index = index;
        slot.marker = &marker;
        if (allowed) {
          locate(here, topic.name, slot);
        } else {
          slot.error = ErrorCode::kClusterAuthorizationFailed;
        }
      }
    }
  }
  request.make_state<FanOut<MarkerSlot>>(here, request, &append, &respond).start(slots);
}

}  // namespace pelton::broker
