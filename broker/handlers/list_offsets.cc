// ListOffsets: offsets by time and by the special times.

#include "proto/messages/list_offsets.h"

#include <boost/unordered/unordered_flat_map.hpp>

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
using proto::ListOffsetsRequest;
using proto::ListOffsetsResponse;

constexpr int64_t kLatest = -1;
constexpr int64_t kEarliest = -2;
constexpr int64_t kMaxTimestamp = -3;
constexpr int64_t kEarliestLocal = -4;
constexpr int64_t kLatestTiered = -5;
constexpr int64_t kEarliestPendingUpload = -6;

struct OffsetSlot : FanOut<OffsetSlot>::SlotBase {
  Uuid topic_id;
  int32_t index = 0;
  int64_t timestamp = 0;
  int32_t current_leader_epoch = -1;
  bool read_committed = false;
  ErrorCode error = ErrorCode::kNone;
  storage::TimestampOffset found;
  bool repeated = false;  // has no row of its own: the first naming of the partition tells the error
};

struct OffsetsState {
  const ListOffsetsRequest* asked;
  std::span<OffsetSlot> slots;
};

// The lowest request version that may ask for a special time.
int16_t first_version_of(int64_t timestamp) {
  switch (timestamp) {
    case kMaxTimestamp: return 7;
    case kEarliestLocal: return 8;
    case kLatestTiered: return 9;
    case kEarliestPendingUpload: return 11;
    default: return timestamp < kEarliestPendingUpload ? INT16_MAX : 0;
  }
}

void set(OffsetSlot& slot, const Result<storage::TimestampOffset, ErrorCode>& found) {
  if (found) {
    slot.found = *found;
  } else {
    slot.error = found.error();
  }
}

bool look_up(BrokerShard& here, OffsetSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  slot.error = check_leader_epoch(slot.current_leader_epoch, partition->leader_epoch());
  if (slot.error != ErrorCode::kNone) return true;
  storage::Log& log = partition->log();
  const storage::LogPosition& end =
      slot.read_committed ? partition->last_stable() : partition->high_watermark();
  switch (slot.timestamp) {
    case kLatest:
      slot.found.offset = end.offset;
      slot.found.leader_epoch = log.latest_epoch();
      break;
    case kEarliest:
    case kEarliestLocal:
      slot.found.offset = log.log_start_offset();
      slot.found.leader_epoch = log.epoch_of(log.log_start_offset());
      break;
    case kLatestTiered:
    case kEarliestPendingUpload:
      break;  // nothing is tiered: -1
    case kMaxTimestamp:
      set(slot, log.max_timestamp(end));
      break;
    default:
      set(slot, log.offset_for_timestamp(slot.timestamp, end));
  }
  return true;
}

void respond(BrokerShard&, Request& request) {
  auto& offsets = *static_cast<OffsetsState*>(request.state);
  auto topics =
      request.arena().array<ListOffsetsResponse::ListOffsetsTopicResponse>(offsets.asked->topics.size());
  size_t next = 0;
  for (size_t i = 0; i < topics.size(); ++i) {
    const auto& asked = offsets.asked->topics[i];
    topics[i].name = asked.name;
    topics[i].partitions =
        request.arena().array<ListOffsetsResponse::ListOffsetsPartitionResponse>(asked.partitions.size());
    size_t rows = 0;
    for (size_t each = 0; each < asked.partitions.size(); ++each) {
      const OffsetSlot& slot = offsets.slots[next++];
      if (slot.repeated) continue;
      auto& answer = topics[i].partitions[rows++];
      answer.partition_index = slot.index;
      answer.error_code = static_cast<int16_t>(slot.error);
      if (slot.error != ErrorCode::kNone) continue;
      answer.timestamp = slot.found.timestamp;
      answer.offset = slot.found.offset;
      answer.leader_epoch = slot.found.leader_epoch;
    }
    topics[i].partitions = topics[i].partitions.first(rows);
  }
  ListOffsetsResponse response;
  response.topics = topics;
  request.respond(response);
}

void locate(BrokerShard& here, Request& request, const ListOffsetsRequest::ListOffsetsTopic& topic,
            OffsetSlot& slot) {
  if (!authorize(request, Operation::kDescribe, ResourceType::kTopic, topic.name)) {
    slot.error = ErrorCode::kTopicAuthorizationFailed;
    return;
  }
  const TopicInfo* info = here.catalog->find(topic.name);
  if (info == nullptr || slot.index < 0 ||
      static_cast<size_t>(slot.index) >= info->partitions.size()) {
    slot.error = ErrorCode::kUnknownTopicOrPartition;
    return;
  }
  if (request.version() < first_version_of(slot.timestamp)) {
    slot.error = ErrorCode::kUnsupportedVersion;
    return;
  }
  slot.topic_id = info->id;
  slot.shard = info->partitions[static_cast<size_t>(slot.index)].shard;
}

// A partition named more than once is an error, told once.
void refuse_repeated(std::span<OffsetSlot> of_topic) {
  boost::unordered_flat_map<int32_t, OffsetSlot*> seen;
  for (OffsetSlot& slot : of_topic) {
    auto [first, added] = seen.try_emplace(slot.index, &slot);
    if (added) continue;
    slot.repeated = true;
    for (OffsetSlot* each : {&slot, first->second}) {
      each->shard = kNoShard;
      each->error = ErrorCode::kInvalidRequest;
    }
  }
}

}  // namespace

void handle_list_offsets(BrokerShard& here, Request& request) {
  auto* asked = request.decode<ListOffsetsRequest>();
  if (asked == nullptr) return;
  size_t count = 0;
  for (const auto& topic : asked->topics) count += topic.partitions.size();
  auto slots = request.make_states<OffsetSlot>(count);
  request.state = &request.make_state<OffsetsState>(OffsetsState{asked, slots});
  size_t next = 0;
  for (const auto& topic : asked->topics) {
    for (const auto& partition : topic.partitions) {
      OffsetSlot& slot = slots[next++];
      slot.index = partition.partition_index;
      slot.timestamp = partition.timestamp;
      slot.current_leader_epoch = partition.current_leader_epoch;
      slot.read_committed = asked->isolation_level == 1;
      locate(here, request, topic, slot);
    }
    if (topic.partitions.size() > 1)
      refuse_repeated(slots.subspan(next - topic.partitions.size(), topic.partitions.size()));
  }
  request.make_state<FanOut<OffsetSlot>>(here, request, &look_up, &respond).start(slots);
}

}  // namespace pelton::broker
