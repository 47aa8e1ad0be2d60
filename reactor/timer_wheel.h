// Hierarchical timer wheel: O(1) start and cancel, intrusive, no allocation.
//
// Owner shard: that of its loop. A Timer is embedded in whatever waits; destroying it cancels it.
// Resolution: one tick (1 ms); a timer never fires early, and fires at most one tick late plus the
// length of a loop turn. Deadlines past the wheel's span (about 12 days) wait in the last slot and
// are placed again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "reactor/base/intrusive_list.h"

namespace pelton {

struct TimerTag;

class Timer : public ListHook<TimerTag> {
 public:
  // Calls (owner->*Method)() when it fires.
  template <auto Method, class Owner>
  static Timer bind(Owner* owner) {
    return Timer(owner, [](void* self) { (static_cast<Owner*>(self)->*Method)(); });
  }
  Timer(const Timer& other) : owner_(other.owner_), fire_(other.fire_) {}
  Timer& operator=(const Timer&) = delete;

  bool active() const { return is_linked(); }
  uint64_t deadline_ns() const { return deadline_ns_; }

 private:
  friend class TimerWheel;
  using Fire = void (*)(void* owner);
  Timer(void* owner, Fire fire) : owner_(owner), fire_(fire) {}

  void* owner_;
  Fire fire_;
  uint64_t deadline_ns_ = 0;
};

class TimerWheel {
 public:
  static constexpr uint64_t kTickNs = 1'000'000;

  explicit TimerWheel(uint64_t now_ns);

  // Starts, or moves, the timer.
  void start(Timer& timer, uint64_t deadline_ns);
  void cancel(Timer& timer);
  // Fires what is due at `now_ns`. A timer may start or cancel any timer, itself included.
  // Returns how many fired.
  int advance(uint64_t now_ns);
  // A time at or before the next deadline, nullopt when no timer runs. Never later than the next
  // deadline; may be earlier when only coarse levels are occupied.
  std::optional<uint64_t> next_ns() const;

 private:
  static constexpr int kLevels = 5;
  static constexpr int kSlotBits = 6;
  static constexpr int kSlots = 1 << kSlotBits;
  using Slot = IntrusiveList<Timer, TimerTag>;

  void place(Timer& timer, uint64_t earliest);
  void cascade(int level);
  int fire_slot();
  std::optional<uint64_t> next_tick() const;
  std::optional<uint64_t> next_tick_on(int level) const;

  uint64_t tick_ = 0;  // the last tick that has been fired
  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  // One bit a slot that may hold timers; cleared lazily when a slot is found empty.
  mutable std::array<uint64_t, kLevels> occupied_{};
};

}  // namespace pelton
