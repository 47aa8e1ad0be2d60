// Client: what every simulated client does: connect, work until the connection is lost, wait a little,
// connect again. And what they share.
//
// Owner: the run. Lifetime: the whole run; events under way point here.
#pragma once

#include <string>
#include <vector>

#include "reactor/base/uuid.h"
#include "tests/sim/client/link.h"
#include "tests/sim/model.h"

namespace pelton::sim {

struct Context {
  World& world;
  SimNetwork& network;
  Model& model;
  uint16_t port;
  bool producing = true;        // false: clients finish what they have begun
  bool disk_fails = false;      // a failed sync is a possible answer
  bool disk_stalls = false;     // so is a sync that takes longer than the client will wait
  uint32_t next_producer = 1;   // numbers for RecordId
  int64_t next_offset = 1;      // commits of groups: each another one, rising
  std::vector<Uuid> topic_ids;  // of the model's topics, once they exist
};

class Client {
 public:
  Client(Context& context, std::string name);
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // From now on it works by itself.
  void start();
  // Gives up its connection for good.
  void stop();
  // Nothing it has begun is open.
  virtual bool settled() const { return true; }
  const std::string& name() const { return name_; }

 protected:
  // The connection is there: requests may be sent.
  virtual void work() = 0;
  // The connection is gone, with every request that was not answered.
  virtual void lost() {}

  // Gives the connection up and connects again a little later.
  void restart();
  // Runs `act` later, unless the connection is lost before.
  void later(uint64_t delay_ns, std::function<void()> act);
  void bug(const std::string& what) { context_.model.violation(name_ + ": " + what); }

  Context& context_;
  World& world_;
  Model& model_;
  Link link_;

 private:
  void on_lost();
  void connect_later();

  std::string name_;
  uint64_t epoch_ = 0;  // of the connection
  bool connecting_ = false;
  bool stopped_ = false;
};

}  // namespace pelton::sim
