// Shedding: closes the connections that were used least recently, over all shards: asks every shard for its
// candidates, picks the oldest of all, and has those closed.
//
// Owner shard: that of ConnectionLimits, its owner. One round at a time; a round chooses among at most
// kMostAtOnce candidates a shard, more takes more rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "reactor/shard.h"

namespace pelton::broker {

class Shedding {
 public:
  static constexpr size_t kMostAtOnce = 256;
  // closed: how many connections were asked to end.
  using Done = void (*)(void* owner, size_t closed);

  Shedding(BrokerShard& here, size_t shards, void* owner, Done done);

  bool running() const { return away_ > 0; }
  // Not while one runs. `count` connections of clients, or of controllers, but none of `protected_listener`.
  void start(size_t count, bool controllers, std::string protected_listener);

 private:
  struct Visit {
    Visit(Shedding& shedding, ShardId its_shard);
    void arrived(Shard& there);
    void back(Shard& here);

    Shedding& all;
    ShardId shard;
    bool closes = false;             // else it looks
    size_t count = 0;                // to close
    std::vector<uint64_t> oldest;    // when the candidates were used last, the oldest first
    Message go;
    Message come;
  };

  void one_is_back();
  void pick();
  void send(bool closes);

  BrokerShard& here_;
  void* owner_;
  Done done_;
  std::vector<std::unique_ptr<Visit>> visits_;
  size_t away_ = 0;
  bool closing_ = false;
  // Of this round; not changed while visits are away.
  size_t count_ = 0;
  bool controllers_ = false;
  std::string protected_listener_;
};

}  // namespace pelton::broker
