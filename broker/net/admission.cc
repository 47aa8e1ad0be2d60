#include "broker/net/admission.h"

#include "broker/broker_shard.h"
#include "broker/net/connection_limits.h"
#include "broker/net/connection_set.h"

namespace pelton::broker {

Admission::Admission(ConnectionSet& its_set, ShardId its_home)
    : set(its_set),
      home(its_home),
      to_limits_(Message::bind<&Admission::at_limits>(this)),
      to_home_(Message::bind<&Admission::at_home>(this)) {}

void Admission::ask(Shard& here) {
  state = State::kAsks;
  if (here.id() == kCatalogShard) return at_limits(here);
  here.send(kCatalogShard, to_limits_);
}

void Admission::leave(Shard& here) {
  state = State::kLeaves;
  here.send(kCatalogShard, to_limits_);
}

void Admission::tell_home(Shard& limits_shard, State decided) {
  state = decided;
  // What is decided here begins here; the end always takes the long way, as it lets others in.
  if (home == limits_shard.id() && decided != State::kLeft) return at_home(limits_shard);
  limits_shard.send(home, to_home_);
}

void Admission::at_limits(Shard& limits_shard) {
  ConnectionLimits& limits = *limits_shard.context<BrokerShard>().connection_limits;
  if (state == State::kAsks) return limits.ask(*this);
  limits.leave(*this);
}

void Admission::at_home(Shard&) { set.on_decided(*this); }

}  // namespace pelton::broker
