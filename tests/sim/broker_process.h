// BrokerProcess: the broker as the simulator runs it: Server over simulated Ios, its loops turned by one
// thread in an order drawn from the seed, and killed at any moment.
//
// Owner: the run. A crash drops nothing: the dead server and its Ios are kept untouched, as their
// operations are under way for ever; only the disk and the network live on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/server.h"
#include "tests/sim/world/sim_disk.h"
#include "tests/sim/world/sim_io.h"
#include "tests/sim/world/sim_network.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

class BrokerProcess {
 public:
  static constexpr uint16_t kPort = 9092;

  BrokerProcess(World& world, SimDisk& disk, SimNetwork& network, broker::BrokerConfig config,
                const SimIo::Shape& shape);

  bool running() const { return alive_ != nullptr; }
  uint64_t starts() const { return starts_; }
  // Loads the directory and listens. The error is the broker's own sentence; the process has ended then.
  Result<void, std::string> start();
  // Kills it; the disk and the network are told.
  void crash(CrashKind kind);
  // Begins the orderly stop; running() is false when it has ended.
  void request_stop();
  // Of the last orderly stop.
  bool stopped_clean() const { return stopped_clean_; }

  // Something happened: each shard may have work.
  void wake_all();
  // One turn of one shard that has work. False: all of them sleep.
  bool turn_one();
  // When the next sleeper wants to wake; UINT64_MAX = never.
  uint64_t next_wake_ns() const;
  // Requests or parts of requests that crossed shards, of all processes that ran to their end or death.
  uint64_t requests_hopped() const { return hopped_ + (alive_ ? hopped_now() : 0); }

 private:
  struct Process {
    std::vector<std::unique_ptr<SimIo>> ios;
    std::unique_ptr<broker::Server> server;
    std::vector<Shard*> shards;
    std::vector<bool> awake;
    std::vector<uint64_t> stalled_until;
  };

  bool may_turn(size_t shard) const;
  void turn(size_t shard);
  void end_if_stopped();
  uint64_t hopped_now() const;

  World& world_;
  SimDisk& disk_;
  SimNetwork& network_;
  broker::BrokerConfig config_;
  SimIo::Shape shape_;
  std::unique_ptr<Process> alive_;
  std::vector<std::unique_ptr<Process>> dead_;
  uint64_t starts_ = 0;
  uint64_t hopped_ = 0;
  bool stopped_clean_ = false;
};

// What a simulated broker is configured with: small segments, few offsets partitions, short intervals.
broker::BrokerConfig sim_config(World& world, int shards);

}  // namespace pelton::sim
