// Background: one shard's slow clock: retention of its partitions, a few a turn, and on the catalog's shard the
// checkpoint files, for which every shard sends its lines.
//
// Owner shard: one each; the catalog's shard also leads the checkpoint rounds. One round at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "broker/broker_shard.h"
#include "reactor/shard.h"
#include "reactor/timer_wheel.h"
#include "storage/log_dir.h"

namespace pelton::broker {

class Background {
 public:
  // `all`: one for each shard, by id; complete before start().
  Background(BrokerShard& here, std::vector<Background*>& all);
  void start();

 private:
  void on_retention();
  void retain_some(Shard&);
  void start_retention_timer();
  void on_checkpoint();
  void collect(Shard&);    // on each shard: copies its lines
  void collected(Shard&);  // back on the catalog's shard
  void write();

  BrokerShard& here_;
  std::vector<Background*>& all_;
  Timer retention_;
  Message retain_some_;
  std::vector<std::pair<Uuid, int32_t>> to_retain_;  // of the round, the next one last
  Timer checkpoint_;
  Message collect_;
  Message collected_;
  std::vector<storage::PartitionCheckpoint> lines_;
  size_t pending_ = 0;  // of the round, on the catalog's shard
};

}  // namespace pelton::broker
