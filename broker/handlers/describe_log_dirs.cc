// DescribeLogDirs: the data directory, its room, and the sizes of the partitions in it.

#include "proto/messages/describe_log_dirs.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "broker/broker_shard.h"
#include "broker/dispatch.h"
#include "broker/fan_out.h"
#include "broker/handlers/answer_limit.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/partition_set.h"
#include "broker/request.h"

namespace pelton::broker {
namespace {

using proto::DescribeLogDirsRequest;
using proto::DescribeLogDirsResponse;
using proto::ErrorCode;

struct SizeSlot : FanOut<SizeSlot>::SlotBase {
  const TopicInfo* topic = nullptr;
  int32_t index = 0;
  bool found = false;
  uint64_t bytes = 0;
};

struct SizesState {
  std::shared_ptr<const CatalogSnapshot> catalog;  // holds the topics
  std::span<SizeSlot> slots;                       // by topic and partition
};

bool look_up(BrokerShard& here, SizeSlot& slot) {
  Partition* partition = here.partitions->find(slot.topic->id, slot.index);
  slot.found = partition != nullptr && !partition->retired() && !partition->log().offline();
  if (slot.found) slot.bytes = partition->log().size_bytes();
  return true;
}

std::span<DescribeLogDirsResponse::DescribeLogDirsTopic> topics_of(proto::Arena& arena,
                                                                   std::span<const SizeSlot> slots) {
  auto topics = arena.array<DescribeLogDirsResponse::DescribeLogDirsTopic>(slots.size());
  auto partitions = arena.array<DescribeLogDirsResponse::DescribeLogDirsPartition>(slots.size());
  const TopicInfo* topic = nullptr;
  size_t topic_count = 0, told = 0;
  for (const SizeSlot& slot : slots) {
    if (!slot.found) continue;
    partitions[told].partition_index = slot.index;
    partitions[told].partition_size = static_cast<int64_t>(slot.bytes);
    if (slot.topic != topic) {
      topic = slot.topic;
      topics[topic_count++] = {.name = topic->name, .partitions = partitions.subspan(told, 0)};
    }
    auto& row = topics[topic_count - 1].partitions;
    row = {row.data(), row.size() + 1};
    ++told;
  }
  return topics.first(topic_count);
}

void respond(BrokerShard& here, Request& request) {
  auto& state = *static_cast<SizesState*>(request.state);
  std::error_code unknown;
  std::string path = std::filesystem::absolute(here.log_dir.path(), unknown).lexically_normal();
  DescribeLogDirsResponse::DescribeLogDirsResult directory;
  directory.log_dir = request.arena().copy(unknown ? std::string_view(here.log_dir.path()) : path);
  directory.topics = topics_of(request.arena(), state.slots);
  if (auto space = here.shard.io().files().space(here.log_dir.path())) {
    directory.total_bytes = static_cast<int64_t>(space->total_bytes);
    directory.usable_bytes = static_cast<int64_t>(space->usable_bytes);
  }
  DescribeLogDirsResponse response;
  response.results = {&directory, 1};
  request.respond(response);
}

size_t partitions_in(const CatalogSnapshot& catalog) {
  size_t count = 0;
  for (const auto& [name, topic] : catalog.topics()) count += topic->partitions.size();
  return count;
}

void add(std::span<SizeSlot> slots, size_t& used, const TopicInfo& topic, const PartitionInfo& partition) {
  SizeSlot& slot = slots[used++];
  slot.topic = &topic;
  slot.index = partition.index;
  slot.shard = partition.shard;
}

std::span<SizeSlot> all_partitions(Request& request, const CatalogSnapshot& catalog) {
  auto slots = request.make_states<SizeSlot>(partitions_in(catalog));
  size_t used = 0;
  for (const auto& [name, topic] : catalog.topics())
    for (const PartitionInfo& partition : topic->partitions) add(slots, used, *topic, partition);
  return slots;
}

std::span<SizeSlot> asked_partitions(Request& request, const CatalogSnapshot& catalog,
                                     const DescribeLogDirsRequest& asked) {
  std::set<std::pair<std::string_view, int32_t>> wanted;
  for (const auto& topic : *asked.topics)
    for (int32_t index : topic.partitions)
      if (catalog.find_partition(topic.topic, index) != nullptr) wanted.insert({topic.topic, index});
  auto slots = request.make_states<SizeSlot>(wanted.size());
  size_t used = 0;
  for (const auto& [name, index] : wanted)
    add(slots, used, *catalog.find(name), *catalog.find_partition(name, index));
  return slots;
}

}  // namespace

void handle_describe_log_dirs(BrokerShard& here, Request& request) {
  auto* asked = request.decode<DescribeLogDirsRequest>();
  if (asked == nullptr) return;
  if (!authorize(request, Operation::kDescribe, ResourceType::kCluster, kClusterResource)) {
    DescribeLogDirsResponse response;
    response.error_code = proto::wire(ErrorCode::kClusterAuthorizationFailed);
    return request.respond(response);
  }
  auto& state = request.make_state<SizesState>();
  request.state = &state;
  state.catalog = here.catalog;
  // Either way not more than there are.
  if (!answer_has_room(request.arena(), partitions_in(*here.catalog) * sizeof(SizeSlot)))
    return request.close_connection("more partitions than a DescribeLogDirs answer holds");
  state.slots = asked->topics ? asked_partitions(request, *here.catalog, *asked)
                              : all_partitions(request, *here.catalog);
  request.make_state<FanOut<SizeSlot>>(here, request, &look_up, &respond).start(state.slots);
}

}  // namespace pelton::broker
