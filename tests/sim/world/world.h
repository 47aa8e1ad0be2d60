// World: what a simulated run has instead of a machine: one clock, one queue of events, one source of
// randomness, one trace. Everything that happens in a run is drawn from the seed and happens on one
// thread, so that seed + source = the same run, event by event.
//
// Owner: the run. Lifetime: outlives the disk, the network, every Io and every client.
// Invariant: time never goes back; events fire in order of time, then of being asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

namespace pelton::sim {

inline constexpr uint64_t kMicro = 1'000;
inline constexpr uint64_t kMilli = 1'000'000;
inline constexpr uint64_t kSecond = 1'000'000'000;

class World {
 public:
  using Event = std::function<void()>;

  explicit World(uint64_t seed, bool print_trace = false);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // --- clock ---
  uint64_t now_ns() const { return now_ns_; }
  int64_t wall_ms() const { return kEpochMs + static_cast<int64_t>(now_ns_ / kMilli); }
  // Time goes by without an event: a turn of a loop, a call that blocks.
  void spend(uint64_t ns) { now_ns_ += ns; }

  // --- randomness ---
  uint64_t random();
  uint64_t below(uint64_t bound);                  // 0 when bound is 0
  uint64_t between(uint64_t low, uint64_t high);   // both included
  bool chance(double probability);
  // Mostly near `low`, now and then up to `high`: what latencies look like.
  uint64_t latency(uint64_t low, uint64_t high);

  // --- events ---
  void at(uint64_t time_ns, Event event);
  void after(uint64_t delay_ns, Event event) { at(now_ns_ + delay_ns, std::move(event)); }
  // Fires what is due now. Returns whether anything was.
  bool fire_due();
  bool has_events() const { return !events_.empty(); }
  // UINT64_MAX when there is none.
  uint64_t next_event_ns() const { return events_.empty() ? UINT64_MAX : events_.top().time_ns; }
  void advance_to(uint64_t time_ns);

  // --- trace ---
  void trace(const char* what, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0);
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t trace_length() const { return trace_length_; }
  bool prints_trace() const { return print_trace_; }

 private:
  static constexpr int64_t kEpochMs = 1'800'000'000'000;

  struct Entry {
    uint64_t time_ns;
    uint64_t sequence;
    Event event;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.sequence > b.sequence;
    }
  };

  uint64_t now_ns_ = kSecond;
  uint64_t random_state_;
  uint64_t next_sequence_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, Later> events_;
  uint64_t trace_hash_ = 0xcbf29ce484222325u;
  uint64_t trace_length_ = 0;
  bool print_trace_;
};

}  // namespace pelton::sim
