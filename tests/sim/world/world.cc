#include "tests/sim/world/world.h"

#include <algorithm>
#include <cstdio>


namespace pelton::sim {
namespace {

uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

World::World(uint64_t seed, bool print_trace)
    : random_state_(mixed(seed + 0x5eed)), print_trace_(print_trace) {}

// splitmix64
uint64_t World::random() { return mixed(random_state_ += 0x9E3779B97F4A7C15u); }

uint64_t World::below(uint64_t bound) { return bound == 0 ? 0 : random() % bound; }

uint64_t World::between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }

bool World::chance(double probability) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53 < probability;
}

uint64_t World::latency(uint64_t low, uint64_t high) {
  if (chance(0.05)) return between(low, high);
  return between(low, std::min(high, low * 4));
}

void World::at(uint64_t time_ns, Event event) {
  events_.push({std::max(time_ns, now_ns_), next_sequence_++, std::move(event)});
}

bool World::fire_due() {
  bool fired = false;
  while (!events_.empty() && events_.top().time_ns <= now_ns_) {
    // The queue gives no way to move out of its top.
    Event event = std::move(const_cast<Entry&>(events_.top()).event);
    events_.pop();
    event();
    fired = true;
  }
  return fired;
}

void World::advance_to(uint64_t time_ns) { now_ns_ = std::max(now_ns_, time_ns); }

void World::trace(const char* what, uint64_t a, uint64_t b, uint64_t c) {
  ++trace_length_;
  auto add = [this](uint64_t value) { trace_hash_ = mixed(trace_hash_ ^ value) + 0x9E3779B97F4A7C15u; };
  add(now_ns_);
  for (const char* at = what; *at != 0; ++at) add(static_cast<uint8_t>(*at));
  add(a);
  add(b);
  add(c);
  if (print_trace_)
    std::printf("%12.6f %s %llu %llu %llu\n", static_cast<double>(now_ns_) / 1e9, what,
                static_cast<unsigned long long>(a), static_cast<unsigned long long>(b),
                static_cast<unsigned long long>(c));
}

}  // namespace pelton::sim
