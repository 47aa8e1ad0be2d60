#include "broker/group/group_lookup.h"

#include "broker/broker_shard.h"
#include "broker/catalog/internal_topics.h"
#include "broker/group/java_string.h"

namespace pelton::broker::group {

std::optional<CoordinatorPlace> coordinator_place(const CatalogSnapshot& catalog,
                                                  std::string_view group_id) {
  const TopicInfo* topic = catalog.find(kOffsetsTopic);
  if (topic == nullptr || topic->partitions.empty()) return std::nullopt;
  auto partitions = static_cast<int32_t>(topic->partitions.size());
  int32_t partition = coordinator_partition_of(group_id, partitions);
  return CoordinatorPlace{.topic_id = topic->id,
                          .partition = partition,
                          .shard = topic->partitions[static_cast<size_t>(partition)].shard};
}

bool go_to_coordinator(BrokerShard& here, Request& request, std::string_view group_id,
                       Request::Continue next) {
  auto place = coordinator_place(*here.catalog, group_id);
  if (!place) return false;
  if (place->shard == here.shard.id()) {
    next(here, request);
  } else {
    request.hop(place->shard, next);
  }
  return true;
}

}  // namespace pelton::broker::group
