// ConnectionLimits: who may connect: counts connections in total, by listener and by address over all shards,
// and how fast new ones come, and holds them to max.connections and its kin.
//
// What Apache Kafka does: beyond max.connections.per.ip a connection is closed; beyond max.connections or
// max.connection.creation.rate new ones wait, accepted and not read, in the order in which they came; when
// max.connections becomes lower than what is there, those that were used least recently are closed. Listeners of
// controllers are counted apart, and with several listeners inter.broker.listener.name is not held back by
// the broker's own limits, so that an operator still gets in.
// How many wait is bounded; others are closed.
//
// Owner shard: the catalog's; asked by messages (Admission). Lifetime: from start-up until the loops have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/net/admission.h"
#include "broker/net/connection_rate.h"
#include "broker/net/shedding.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker {

class ConnectionLimits {
 public:
  // most: connections that the process's descriptors allow.
  ConnectionLimits(BrokerShard& here, size_t shards, size_t most, size_t most_waiting);
  ~ConnectionLimits();

  void ask(Admission& admission);
  void leave(Admission& admission);
  // The configuration has changed.
  void use_config();
  // Nobody gets in any more; who waits is refused.
  void stop();

  // --- for metrics ---
  struct ListenerCount {
    std::string name;
    uint64_t connections;
    uint64_t limit;
    uint64_t waiting;
  };
  std::vector<ListenerCount> listener_counts() const;
  uint64_t waited() const { return waited_; }  // connections that had to
  uint64_t most() const { return clients_.max; }

 private:
  // The listeners that are counted together.
  struct Group {
    size_t excess() const { return count > max + closing ? count - max - closing : 0; }

    size_t count = 0;
    size_t max = 0;
    int32_t rate_limit = 0;
    ConnectionRate rate;
    size_t closing = 0;  // asked to close, and not gone yet
  };
  struct Listener {
    Listener(ConnectionLimits& limits, std::string its_name, Group& its_group);
    void on_time();

    ConnectionLimits& all;
    std::string name;
    Group& group;
    bool held_to_group = true;
    size_t count = 0;
    size_t max = 0;
    int32_t rate_limit = 0;
    ConnectionRate rate;
    IntrusiveList<Admission, WaitTag> waiting;
    size_t waiting_count = 0;
    uint64_t next_ns = 0;  // the first that waits may not come in before
    Timer timer;
  };
  Listener* find(const std::string& name);
  bool address_full(const std::string& address) const;
  bool has_place(const Listener& listener) const;
  uint64_t count_in_time(Listener& listener);
  void let_in(Listener& listener);
  void let_all_in();
  void admit(Listener& listener, Admission& admission);
  void refuse(Admission& admission, CloseReason reason);
  void shed();
  void shed(Group& group);
  void on_shed(size_t closed);

  BrokerShard& here_;
  size_t most_;
  size_t most_waiting_;
  Group clients_;
  Group controllers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_map<std::string, int32_t> by_address_;
  Shedding shedding_;
  bool sheds_controllers_ = false;  // the round under way
  uint64_t waited_ = 0;
  bool stopped_ = false;
};

}  // namespace pelton::broker
