#include "reactor/loop.h"

#include <algorithm>
#include <utility>

namespace pelton {
namespace {

// Completions run in one turn; what is over waits for the next, so that mail and timers are never
// starved.
constexpr int kReadyBudget = 1024;
// Rounds of turn ends in one turn; what is over waits for the next.
constexpr int kEndRounds = 8;
constexpr uint64_t kDoNotWait = 0;  // a deadline in the past

}  // namespace

Loop::Loop(Io& io, bool shuffle)
    : io_(io), timers_(io.now_ns()), now_ns_(io.now_ns()), shuffle_(shuffle) {}

void Loop::post(Completion& task) {
  task.mark_started();
  task.set_result(0);
  ready_.push_back(task);
}

void Loop::at_turn_end(TurnEnd& end) {
  if (!end.is_linked()) ends_[end.phase()].push_back(end);
}

void Loop::set_mail(void* owner, Deliver deliver, MayWait may_wait) {
  mail_owner_ = owner;
  deliver_ = deliver;
  may_wait_ = may_wait;
}

bool Loop::run_turn(bool wait) {
  io_.poll(ready_, wait_deadline(wait));
  now_ns_ = io_.now_ns();
  bool ran = run_ready();
  if (deliver_ != nullptr) ran |= deliver_(mail_owner_);
  ran |= timers_.advance(now_ns_) > 0;
  ran |= run_turn_ends();
  count_turn();
  return ran;
}

void Loop::count_turn() {
  uint64_t took = io_.now_ns() - now_ns_;
  ++counters_.turns;
  if (took > kStallNs) ++counters_.stalled_turns;
  counters_.longest_turn_ns = std::max(counters_.longest_turn_ns, took);
}

void Loop::run() {
  while (!stopped_) run_turn(true);
}

bool Loop::has_turn_ends() const {
  return std::any_of(std::begin(ends_), std::end(ends_), [](const auto& list) { return !list.empty(); });
}

std::optional<uint64_t> Loop::wait_deadline(bool wait) {
  if (!wait || stopped_ || !ready_.empty() || has_turn_ends()) return kDoNotWait;
  // Last, since a "yes" announces to the other shards that this one sleeps.
  if (may_wait_ != nullptr && !may_wait_(mail_owner_)) return kDoNotWait;
  return timers_.next_ns();
}

bool Loop::run_ready() {
  ReadyList turn;
  turn.swap(ready_);
  if (shuffle_) shuffle(turn);
  int ran = 0;
  for (; ran < kReadyBudget && !turn.empty(); ++ran) {
    Completion& completion = turn.front();
    turn.pop_front();
    completion.run();
  }
  ready_.splice(ready_.begin(), turn);
  return ran > 0;
}

void Loop::shuffle(ReadyList& list) {
  scratch_.clear();
  while (!list.empty()) {
    scratch_.push_back(&list.front());
    list.pop_front();
  }
  for (size_t left = scratch_.size(); left > 0; --left) {
    std::swap(scratch_[io_.random() % left], scratch_[left - 1]);
    list.push_back(*scratch_[left - 1]);
  }
}

bool Loop::run_turn_ends() {
  bool ran = false;
  for (int round = 0; round < kEndRounds && has_turn_ends(); ++round) {
    for (auto& phase : ends_) {
      IntrusiveList<TurnEnd, TurnEndTag> now;
      now.swap(phase);
      while (!now.empty()) {
        TurnEnd& end = now.front();
        now.pop_front();
        ran = true;
        end.run_(end.owner_);
      }
    }
  }
  return ran;
}

}  // namespace pelton
