// RemovedTopics: the partitions of topics that a round removed, and the lines in the checkpoints that are
// still about them. Those leave the disk before a partition may come again under such a name: it would be
// held against the old one's recovery point and log start.
//
// Owner shard: kCatalogShard (the writer).
#pragma once

#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/replay.h"
#include "broker/catalog/snapshot.h"
#include "storage/log_start_checkpoint.h"
#include "storage/sync_queue.h"

namespace pelton::broker {

class RemovedTopics {
 public:
  using Done = void (*)(void* owner, Status outcome);

  RemovedTopics(BrokerShard& here, void* owner, Done done);

  // Topics that `shown` has and `state` has no more.
  void note(const CatalogSnapshot& shown, const CatalogReplay& state);
  bool any() const { return !partitions_.empty(); }
  // Every shard has retired them. Calls done once, maybe before it returns; after an error they are still noted,
  // for the next round.
  void forget();

 private:
  void on_starts_forgotten(Status outcome);
  void on_forgotten(int32_t result);

  BrokerShard& here_;
  void* owner_;
  Done done_;
  std::vector<storage::TopicPartition> partitions_;
  storage::LogStartWaiter starts_forgotten_;
  storage::FileSystemWaiter forgotten_;
};

}  // namespace pelton::broker
