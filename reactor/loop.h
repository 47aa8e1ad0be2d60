// Loop: one shard's turn.
//
//   1. poll: submit what was started, reap what ended (wait only when there is nothing to do)
//   2. run the completions and posted tasks that were ready when the turn began, within a budget
//   3. mailboxes: deliver messages of other shards
//   4. timers that are due
//   5. turn ends: write what was appended in this turn (one pwritev a segment), answer what that
//      satisfies, hand replies to the sockets, send messages that found a full mailbox
//
// Owner shard: the thread that calls run_turn. In simulation one thread turns all loops.
// With `shuffle` the order of ready completions is drawn from Io::random, to find hidden order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reactor/base/intrusive_list.h"
#include "reactor/completion.h"
#include "reactor/io.h"
#include "reactor/timer_wheel.h"

namespace pelton {

// Work that runs once at the end of every turn in which it was requested; requests made while it
// runs are served in the same turn, up to a bound of rounds.
struct TurnEndTag;
class TurnEnd : public ListHook<TurnEndTag> {
 public:
  template <auto Method, class Owner>
  static TurnEnd bind(Owner* owner, int phase) {
    return TurnEnd(owner, [](void* self) { (static_cast<Owner*>(self)->*Method)(); }, phase);
  }
  // Lower phases run first: see the constants below.
  int phase() const { return phase_; }

 private:
  friend class Loop;
  using Run = void (*)(void* owner);
  TurnEnd(void* owner, Run run, int phase) : owner_(owner), run_(run), phase_(phase) {}

  void* owner_;
  Run run_;
  int phase_;
};

// Phases in the order of a turn's end.
inline constexpr int kPhaseWrite = 0;    // appended batches reach their files
inline constexpr int kPhaseAnswer = 1;   // what the writes satisfied is answered
inline constexpr int kPhaseSend = 2;     // replies reach the sockets
inline constexpr int kPhaseMail = 3;     // messages that found a full mailbox
inline constexpr int kPhases = 4;

// What a loop has done since its start. A turn's time is without its sleep.
struct LoopCounters {
  uint64_t turns = 0;
  uint64_t stalled_turns = 0;  // longer than kStallNs
  uint64_t longest_turn_ns = 0;
};

class Loop {
 public:
  static constexpr uint64_t kStallNs = 10'000'000;

  explicit Loop(Io& io, bool shuffle = false);

  Io& io() { return io_; }
  TimerWheel& timers() { return timers_; }
  // The time of this turn (read once after poll).
  uint64_t now_ns() const { return now_ns_; }
  int64_t wall_ms() { return io_.wall_ms(); }
  const LoopCounters& counters() const { return counters_; }

  // Runs `task` in the next turn (result 0). The task must not be pending.
  void post(Completion& task);
  // Runs `end` at the end of this turn.
  void at_turn_end(TurnEnd& end);

  // What to call for step 3; returns whether anything was delivered.
  using Deliver = bool (*)(void* owner);
  // Asked before waiting: prepares for sleep and says whether sleeping is still right.
  using MayWait = bool (*)(void* owner);
  void set_mail(void* owner, Deliver deliver, MayWait may_wait);

  // One turn. `wait` = sleep for work if there is none. Returns whether anything ran.
  bool run_turn(bool wait);
  // Turns until stop() is called from a completion, timer or message of this loop.
  void run();
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  bool run_ready();
  bool run_turn_ends();
  bool has_turn_ends() const;
  void shuffle(ReadyList& list);
  std::optional<uint64_t> wait_deadline(bool wait);
  void count_turn();

  Io& io_;
  TimerWheel timers_;
  ReadyList ready_;
  std::vector<Completion*> scratch_;  // for shuffle
  IntrusiveList<TurnEnd, TurnEndTag> ends_[kPhases];
  void* mail_owner_ = nullptr;
  Deliver deliver_ = nullptr;
  MayWait may_wait_ = nullptr;
  uint64_t now_ns_;
  LoopCounters counters_;
  bool shuffle_;
  bool stopped_ = false;
};

}  // namespace pelton
