#include "reactor/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace pelton {
namespace {

// The first tick at which the deadline has passed: never early.
uint64_t tick_at_or_after(uint64_t ns) {
  return ns / TimerWheel::kTickNs + (ns % TimerWheel::kTickNs != 0);
}

}  // namespace

TimerWheel::TimerWheel(uint64_t now_ns) : tick_(now_ns / kTickNs) {}

void TimerWheel::start(Timer& timer, uint64_t deadline_ns) {
  timer.unlink();
  timer.deadline_ns_ = deadline_ns;
  place(timer, tick_ + 1);
}

void TimerWheel::cancel(Timer& timer) { timer.unlink(); }

// A timer due in less than 64^(level+1) ticks lies on `level`, in the slot that its own tick names
// there. That slot cascades when the wheel reaches the slot's first tick, which is at or before the
// timer's.
void TimerWheel::place(Timer& timer, uint64_t earliest) {
  constexpr uint64_t kSpan = uint64_t{1} << (kLevels * kSlotBits);
  uint64_t due = std::max(tick_at_or_after(timer.deadline_ns_), earliest);
  uint64_t distance = std::min(due - tick_, kSpan - 1);
  int level = distance == 0 ? 0 : (std::bit_width(distance) - 1) / kSlotBits;
  uint64_t slot = ((tick_ + distance) >> (level * kSlotBits)) & (kSlots - 1);
  slots_[static_cast<size_t>(level)][slot].push_back(timer);
  occupied_[static_cast<size_t>(level)] |= uint64_t{1} << slot;
}

// Distributes the slot that begins at the present tick over the finer levels. A timer due at this very
// tick goes to the slot that fires next.
void TimerWheel::cascade(int level) {
  size_t index = (tick_ >> (level * kSlotBits)) & (kSlots - 1);
  Slot moving;
  moving.swap(slots_[static_cast<size_t>(level)][index]);
  occupied_[static_cast<size_t>(level)] &= ~(uint64_t{1} << index);
  while (!moving.empty()) {
    Timer& timer = moving.front();
    moving.pop_front();
    place(timer, tick_);
  }
}

int TimerWheel::fire_slot() {
  size_t index = tick_ & (kSlots - 1);
  // Taken out first: what a timer starts now belongs to a later tick, also when it names this slot.
  Slot due;
  due.swap(slots_[0][index]);
  occupied_[0] &= ~(uint64_t{1} << index);
  int fired = 0;
  while (!due.empty()) {
    Timer& timer = due.front();
    due.pop_front();
    ++fired;
    timer.fire_(timer.owner_);
  }
  return fired;
}

int TimerWheel::advance(uint64_t now_ns) {
  uint64_t target = now_ns / kTickNs;
  int fired = 0;
  while (tick_ < target) {
    std::optional<uint64_t> next = next_tick();
    if (!next || *next > target) {
      tick_ = target;  // nothing cascades or fires on the way
      break;
    }
    tick_ = *next;
    for (int level = kLevels - 1; level > 0; --level) {
      uint64_t period = uint64_t{1} << (level * kSlotBits);
      if (tick_ % period == 0) cascade(level);
    }
    fired += fire_slot();
  }
  return fired;
}

std::optional<uint64_t> TimerWheel::next_ns() const {
  std::optional<uint64_t> next = next_tick();
  if (!next) return std::nullopt;
  return *next * kTickNs;
}

std::optional<uint64_t> TimerWheel::next_tick() const {
  std::optional<uint64_t> next;
  for (int level = 0; level < kLevels; ++level) {
    std::optional<uint64_t> here = next_tick_on(level);
    if (here && (!next || *here < *next)) next = here;
  }
  return next;
}

// The tick at which the first occupied slot of a level fires (level 0) or cascades.
std::optional<uint64_t> TimerWheel::next_tick_on(int level) const {
  auto row = static_cast<size_t>(level);
  uint64_t present = tick_ >> (level * kSlotBits);
  int first = static_cast<int>((present + 1) & (kSlots - 1));
  while (occupied_[row] != 0) {
    int steps = std::countr_zero(std::rotr(occupied_[row], first));
    auto slot = static_cast<size_t>((first + steps) & (kSlots - 1));
    if (!slots_[row][slot].empty())
      return (present + 1 + static_cast<uint64_t>(steps)) << (level * kSlotBits);
    occupied_[row] &= ~(uint64_t{1} << slot);  // every timer in it was cancelled
  }
  return std::nullopt;
}

}  // namespace pelton
