// ServerStop: the orderly stop, led by the catalog's shard.
//
//   drain    every shard: accept no more, stop reading, end waits, until what is in flight is answered
//            and sent (bounded by kDrainNs)
//   close    every shard: close connections that are left, sync and close every log, tell checkpoints
//   finish   catalog shard: close the metadata log, write the checkpoints and the clean-shutdown marker
//   leave    every shard: stop the loop
//
// A failure on the way leaves the marker unwritten: the next start recovers.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "reactor/shard.h"
#include "reactor/timer_wheel.h"
#include "storage/log_dir.h"

namespace pelton::broker {

struct BrokerShard;
class Server;

class ServerStop {
 public:
  static constexpr uint64_t kDrainNs = 2'000'000'000;

  explicit ServerStop(Server& server);
  ~ServerStop();
  // From any thread; further calls do nothing.
  void request();
  bool clean() const { return clean_.load(std::memory_order_acquire); }

 private:
  enum class Phase : uint8_t { kNone, kDrain, kClose, kLeave };

  struct OneShard {
    OneShard(ServerStop& stop, BrokerShard& here);
    void enter(Shard&);    // on its shard: begin `phase`
    void back(Shard&);     // on the catalog's shard: `phase` is done here
    void poll_drained();
    void close();

    ServerStop& all;
    BrokerShard& here;
    Phase phase = Phase::kNone;
    uint64_t drain_until_ns = 0;
    Timer drain_timer;
    bool failed = false;
    std::vector<storage::PartitionCheckpoint> checkpoints;
    Message to_shard;
    Message to_catalog;
  };

  void begin(Shard&);
  void enter_all(Phase phase);
  void one_done();
  void finish();

  Server& server_;
  std::atomic<bool> asked_{false};
  Message requested_;
  std::vector<std::unique_ptr<OneShard>> shards_;
  Phase phase_ = Phase::kNone;
  size_t pending_ = 0;
  std::atomic<bool> clean_{false};
};

}  // namespace pelton::broker
