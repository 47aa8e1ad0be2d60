// Publication: brings one snapshot to every shard. First each shard creates the partitions that are new to
// it, then each takes the snapshot over: a client that sees a topic can use it through every shard.
//
// Owner shard: kCatalogShard (the writer). Its parts travel to the shards and back. Lifetime: outlives the
// shards' loops.
#pragma once

#include <memory>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/snapshot.h"
#include "reactor/shard.h"

namespace pelton::broker {

class Publication {
 public:
  // failed: a shard could not create a partition; the snapshot is shown all the same.
  using Done = void (*)(void* owner, bool failed);

  Publication(BrokerShard& here, void* owner, Done done);
  // One at a time. Calls done when every shard shows the snapshot, in a later turn.
  void start(std::shared_ptr<const CatalogSnapshot> snapshot);

 private:
  struct Part {
    Part(Publication& its_all, ShardId its_shard) : all(its_all), shard(its_shard) {}

    void on_open(Shard& there);
    void on_opened(Shard& here);
    void on_show(Shard& there);
    void on_shown(Shard& here);

    Publication& all;
    ShardId shard;
    BrokerShard* broker = nullptr;
    std::shared_ptr<const CatalogSnapshot> snapshot;
    bool failed = false;
    Message open = Message::bind<&Part::on_open>(this);
    Message opened = Message::bind<&Part::on_opened>(this);
    Message show = Message::bind<&Part::on_show>(this);
    Message shown = Message::bind<&Part::on_shown>(this);
  };

  void send_all(Message Part::*message);

  BrokerShard& here_;
  void* owner_;
  Done done_;
  std::vector<std::unique_ptr<Part>> parts_;
  size_t missing_ = 0;
  bool failed_ = false;
};

}  // namespace pelton::broker
