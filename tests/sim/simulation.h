// Simulation: one seeded run: a broker, its clients, and what goes wrong: kills, power losses, broken
// connections. Ends with everything read back and compared with the model.
//
// Owner: main. Never destroyed: dead brokers, whose operations never end, hang on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/broker_process.h"
#include "tests/sim/client/client.h"
#include "tests/sim/model.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

struct SimulationOptions {
  uint64_t seed = 1;
  bool trace = false;
  bool sync_lies = false;  // the planted fault: once the topics exist, asynchronous syncs do nothing
  int shards = 2;
};

struct SimulationCounts {
  uint64_t kills = 0;
  uint64_t power_losses = 0;
  uint64_t power_losses_at_start = 0;
  uint64_t failed_syncs = 0;
  uint64_t clean_stops = 0;
  uint64_t broken_connections = 0;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);

  // Runs to the end or to the first violation. Returns whether there was none.
  bool run();
  const std::string& violation() const { return violation_; }
  // The violation is a broken promise: a record or an offset that was lost or changed.
  bool promise_broken() const { return model_.broken(); }
  std::string summary() const;
  uint64_t trace_hash() const { return world_.trace_hash(); }

 private:
  void add_clients();
  template <class Kind, class... Args>
  void add(Args&&... args);

  // --- phases ---
  void disturb_until(uint64_t end_ns);
  void settle();
  void end_broker();
  void verify();

  // --- the machine ---
  void step();
  template <class Done>
  bool run_until(uint64_t timeout_ns, Done done);
  void start_broker();
  // Starts it, with the power going away during that, as drawn. Whether it runs.
  bool start_broker_in_danger();
  void crash_broker();
  bool failed() const { return !violation_.empty(); }
  void violate(const std::string& what);

  SimulationOptions options_;
  World world_;
  SimDisk disk_;
  SimNetwork network_;
  Model model_;
  Context context_;
  SimIo::Shape shape_;
  BrokerProcess broker_;
  std::vector<std::unique_ptr<Client>> clients_;
  SimulationCounts counts_;
  std::string violation_;
};

}  // namespace pelton::sim
