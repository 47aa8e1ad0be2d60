// Where a group's coordinator is: by the catalog, and how a request gets there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/catalog/snapshot.h"
#include "broker/request.h"
#include "reactor/base/uuid.h"

namespace pelton::broker::group {

struct CoordinatorPlace {
  Uuid topic_id;
  int32_t partition = 0;
  ShardId shard = 0;
};

// nullopt: __consumer_offsets is not there.
std::optional<CoordinatorPlace> coordinator_place(const CatalogSnapshot& catalog,
                                                  std::string_view group_id);

// Runs `next` on the shard that coordinates the group: at once if it is this one, else there.
// False: nothing was done, no shard does (kNotCoordinator).
bool go_to_coordinator(BrokerShard& here, Request& request, std::string_view group_id,
                       Request::Continue next);

}  // namespace pelton::broker::group
