// Liveness: whether every shard still turns. A round sends one message to each shard from outside; a shard
// that delivers it is alive. What answers is the loop itself, so a shard that hangs in a call is seen.
//
// Owner: main's thread, which begins rounds and asks; the shards answer. Lifetime: ends after the shards'
// threads have (their last message may still be under way).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "reactor/shard.h"

namespace pelton::broker {

class Liveness {
 public:
  explicit Liveness(const std::vector<Shard*>& shards);

  // Asks every shard that is not still being asked.
  void begin_round();
  // The first shard that has not answered since the round began; none: all have.
  std::optional<ShardId> silent() const;

 private:
  struct Probe {
    explicit Probe(Shard& its_shard)
        : shard(its_shard), message(Message::bind<&Probe::arrived>(this)) {}
    void arrived(Shard&) { away.store(false, std::memory_order_release); }
    Shard& shard;
    std::atomic<bool> away{false};
    Message message;
  };
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace pelton::broker
