// The page that a scrape gets, made of the samples of all shards and of what the kernel tells about the
// process. Pure but for reading /proc; run on a helper thread.
//
// What has Apache Kafka's meaning is named kafka_..., what only this broker has pelton_..., what every
// process has process_...
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "broker/metrics/shard_sample.h"

namespace pelton::broker {

struct ProcessFacts {
  std::string version;
  std::string cluster_id;
  int32_t node_id = 0;
  int64_t started_ms = 0;  // since the epoch
};

std::string metrics_page(std::span<const ShardSample* const> shards, const ProcessFacts& facts);

}  // namespace pelton::broker
