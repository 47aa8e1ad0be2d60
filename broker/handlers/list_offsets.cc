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
#include "broker/timestamp_lookup.h"

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
  int64_t end = 0;
  ErrorCode error = ErrorCode::kNone;
  storage::TimestampOffset found;
  std::optional<TimestampLookup> lookup;
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

// Records that a reader of this isolation does not see yet are as good as not there; this is about the largest
// timestamp, which is looked for among all committed records, as Apache Kafka does.
void take_found(OffsetSlot& slot) {
  const TimestampLookup::Found& found = slot.lookup->found();
  if (!found) {
    slot.error = found.error();
  } else if (found->offset < slot.end) {
    slot.found = *found;
  }
}

bool look_up_time(BrokerShard& here, OffsetSlot& slot, Partition& partition) {
  slot.lookup.emplace(here, partition, &slot, [](void* owner) {
    auto& its_slot = *static_cast<OffsetSlot*>(owner);
    take_found(its_slot);
    FanOut<OffsetSlot>::finish(its_slot);
  });
  bool largest = slot.timestamp == kMaxTimestamp;
  if (!slot.lookup->start(largest ? TimestampLookup::kLargest : slot.timestamp, partition.high_watermark()))
    return false;
  take_found(slot);
  return true;
}

bool look_up(BrokerShard& here, OffsetSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return true;
  }
  slot.error = partition->log().failed()
                   ? ErrorCode::kKafkaStorageError
                   : check_leader_epoch(slot.current_leader_epoch, partition->leader_epoch());
  if (slot.error != ErrorCode::kNone) return true;
  storage::Log& log = partition->log();
  slot.end = (slot.read_committed ? partition->last_stable() : partition->high_watermark()).offset;
  switch (slot.timestamp) {
    case kLatest:
      slot.found.offset = slot.end;
      slot.found.leader_epoch = partition->leader_epoch();
      return true;
    case kEarliest:
    case kEarliestLocal:
      slot.found.offset = log.log_start_offset();
      slot.found.leader_epoch = log.epoch_of(log.log_start_offset());
      return true;
    case kLatestTiered:
    case kEarliestPendingUpload:
      return true;  // nothing is tiered: -1
    default:
      return look_up_time(here, slot, *partition);
  }
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
