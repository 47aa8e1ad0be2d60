// ProduceOrder: Produce requests of one connection are appended in the order in which they came, though
// preparing their batches takes some of them longer (sequences of idempotent producers depend on it).
//
// Owner shard: the connections'. A connection has a line only while a request of it is being prepared.
#pragma once

#include <cstdint>

#include <boost/unordered/unordered_flat_map.hpp>

namespace pelton::broker {

class ProduceOrder {
 public:
  // A request's place; embedded in its state. `start` runs when the request is ready and those before it
  // have started.
  struct Place {
    void (*start)(Place& place) = nullptr;
    uint64_t connection = 0;
    Place* behind = nullptr;
    bool ready = false;
    bool first = true;
  };

  // Whether a request that needs no preparing may start at once.
  bool free(uint64_t connection) const { return last_.empty() || !last_.contains(connection); }

  void enter(Place& place);
  // Prepared: starts it, and those behind it that waited for it.
  void ready(Place& place);

 private:
  boost::unordered_flat_map<uint64_t, Place*> last_;  // of each line
};

}  // namespace pelton::broker
