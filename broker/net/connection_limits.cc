#include "broker/net/connection_limits.h"

#include <algorithm>

#include "broker/net/connection_set.h"

namespace pelton::broker {
namespace {

ConnectionRate rate_of(const BrokerConfig& config) {
  return {config.connection_limits.window_num, config.connection_limits.window_seconds};
}

}  // namespace

ConnectionLimits::Listener::Listener(ConnectionLimits& limits, std::string its_name, Group& its_group)
    : all(limits),
      name(std::move(its_name)),
      group(its_group),
      rate(rate_of(limits.here_.config)),
      timer(Timer::bind<&Listener::on_time>(this)) {}

void ConnectionLimits::Listener::on_time() { all.let_in(*this); }

ConnectionLimits::ConnectionLimits(BrokerShard& here, size_t shards, size_t most, size_t most_waiting)
    : here_(here),
      most_(most),
      most_waiting_(most_waiting),
      clients_{.rate = rate_of(here.config)},
      controllers_{.rate = rate_of(here.config)},
      shedding_(here, shards, this,
                [](void* self, size_t closed) { static_cast<ConnectionLimits*>(self)->on_shed(closed); }) {
  const BrokerConfig& config = here.config;
  for (const ListenerConfig& each : config.listeners)
    listeners_.push_back(std::make_unique<Listener>(*this, each.name, clients_));
  for (const ListenerConfig& each : config.controller_listeners)
    listeners_.push_back(std::make_unique<Listener>(*this, each.name, controllers_));
  for (auto& listener : listeners_)
    listener->held_to_group = &listener->group == &controllers_ || config.listeners.size() == 1 ||
                              listener->name != config.inter_broker_listener;
  use_config();
}

ConnectionLimits::~ConnectionLimits() = default;

void ConnectionLimits::use_config() {
  const ConnectionLimitsConfig& limits = here_.config.connection_limits;
  for (Group* group : {&clients_, &controllers_}) {
    group->max = std::min<size_t>(static_cast<size_t>(limits.all.max_connections), most_);
    group->rate_limit = limits.all.creation_rate;
  }
  for (auto& listener : listeners_) {
    auto own = limits.of_listeners.find(listener->name);
    const ListenerLimits& holds = own != limits.of_listeners.end() ? own->second : limits.all;
    listener->max = std::min<size_t>(static_cast<size_t>(holds.max_connections), most_);
    listener->rate_limit = holds.creation_rate;
  }
  shed();
  let_all_in();
}

// ---------------------------------------------------------------- coming

ConnectionLimits::Listener* ConnectionLimits::find(const std::string& name) {
  for (auto& listener : listeners_)
    if (listener->name == name) return listener.get();
  CHECK(false, "a connection of no listener");
  return nullptr;
}

bool ConnectionLimits::address_full(const std::string& address) const {
  const ConnectionLimitsConfig& limits = here_.config.connection_limits;
  auto own = limits.of_addresses.find(address);
  int32_t max = own != limits.of_addresses.end() ? own->second : limits.max_per_address;
  auto counted = by_address_.find(address);
  return (counted != by_address_.end() ? counted->second : 0) >= max;
}

bool ConnectionLimits::has_place(const Listener& listener) const {
  return listener.count < listener.max &&
         (!listener.held_to_group || listener.group.count < listener.group.max);
}

void ConnectionLimits::ask(Admission& admission) {
  Listener& listener = *find(admission.listener);
  // Not only at the end: who waits would keep others of his address waiting for nothing.
  if (stopped_ || address_full(admission.address))
    return refuse(admission, stopped_ ? CloseReason::kStopping : CloseReason::kMaxPerAddress);
  if (listener.waiting_count >= most_waiting_) return refuse(admission, CloseReason::kMaxConnections);
  admission.counted_in_time = false;
  listener.waiting.push_back(admission);
  ++listener.waiting_count;
  let_in(listener);
  // In their order: when anybody waits, this one does, which otherwise is another shard's by now.
  if (!listener.waiting.empty()) ++waited_;
}

// Counts a connection that is next; whether, and how long, it has to wait.
uint64_t ConnectionLimits::count_in_time(Listener& listener) {
  uint64_t now_ns = here_.shard.loop().now_ns();
  uint64_t wait_ns = listener.rate.record(now_ns, listener.rate_limit);
  if (listener.held_to_group)
    wait_ns = std::max(wait_ns, listener.group.rate.record(now_ns, listener.group.rate_limit));
  return wait_ns;
}

// Lets those in who wait at the listener, in their order, until one has to wait on.
void ConnectionLimits::let_in(Listener& listener) {
  Loop& loop = here_.shard.loop();
  while (!listener.waiting.empty()) {
    Admission& next = listener.waiting.front();
    if (!next.counted_in_time) {
      next.counted_in_time = true;
      listener.next_ns = loop.now_ns() + count_in_time(listener);
    }
    if (loop.now_ns() < listener.next_ns) return loop.timers().start(listener.timer, listener.next_ns);
    if (!has_place(listener)) return;
    listener.waiting.pop_front();
    --listener.waiting_count;
    if (address_full(next.address)) {
      refuse(next, CloseReason::kMaxPerAddress);
    } else {
      admit(listener, next);
    }
  }
}

void ConnectionLimits::let_all_in() {
  for (auto& listener : listeners_) let_in(*listener);
}

void ConnectionLimits::admit(Listener& listener, Admission& admission) {
  ++by_address_[admission.address];
  ++listener.count;
  ++listener.group.count;
  admission.tell_home(here_.shard, Admission::State::kAdmitted);
  if (!listener.held_to_group) shed();
}

void ConnectionLimits::refuse(Admission& admission, CloseReason reason) {
  admission.reason = reason;
  admission.tell_home(here_.shard, Admission::State::kRefused);
}

// ---------------------------------------------------------------- leaving

void ConnectionLimits::leave(Admission& admission) {
  Listener& listener = *find(admission.listener);
  --listener.count;
  --listener.group.count;
  if (listener.group.closing > 0) --listener.group.closing;
  auto counted = by_address_.find(admission.address);
  if (--counted->second == 0) by_address_.erase(counted);
  admission.tell_home(here_.shard, Admission::State::kLeft);
  let_all_in();
}

void ConnectionLimits::stop() {
  stopped_ = true;
  for (auto& listener : listeners_) {
    here_.shard.loop().timers().cancel(listener->timer);
    while (!listener->waiting.empty()) {
      Admission& each = listener->waiting.front();
      listener->waiting.pop_front();
      refuse(each, CloseReason::kStopping);
    }
    listener->waiting_count = 0;
  }
}

// ---------------------------------------------------------------- closing what is too much

void ConnectionLimits::shed() {
  shed(clients_.excess() > 0 ? clients_ : controllers_);
}

void ConnectionLimits::shed(Group& group) {
  if (shedding_.running() || stopped_ || group.excess() == 0) return;
  sheds_controllers_ = &group == &controllers_;
  const BrokerConfig& config = here_.config;
  shedding_.start(group.excess(), sheds_controllers_,
                  config.listeners.size() > 1 ? config.inter_broker_listener : std::string());
}

void ConnectionLimits::on_shed(size_t closed) {
  Group& group = sheds_controllers_ ? controllers_ : clients_;
  group.closing += closed;
  if (closed > 0) return shed();
  // All clients that are left are protected: trying again would go on for ever, and controllers would never come.
  if (!sheds_controllers_) shed(controllers_);
}

std::vector<ConnectionLimits::ListenerCount> ConnectionLimits::listener_counts() const {
  std::vector<ListenerCount> counts;
  for (const auto& listener : listeners_)
    counts.push_back({listener->name, listener->count, std::min(listener->max, listener->held_to_group
                                                                                   ? listener->group.max
                                                                                   : listener->max),
                      listener->waiting_count});
  return counts;
}

}  // namespace pelton::broker
