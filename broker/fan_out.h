// FanOut: one request's work split by the shards that own its partitions, and brought together again.
//
// A slot is the work for one partition. Slots of one shard travel as one part, by message; the part for
// the home shard runs in place. When every slot has finished, `done` runs on the home shard.
// Lifetime: state of its request (Request::make_state); slots too.
#pragma once

#include <span>

#include "broker/broker_shard.h"
#include "broker/request.h"
#include "reactor/shard.h"

namespace pelton::broker {

template <class Slot>
class FanOut {
 public:
  // True: the slot is finished. False: finish(slot) will be called later, on the same shard.
  using Run = bool (*)(BrokerShard& here, Slot& slot);
  using Done = void (*)(BrokerShard& home, Request& request);

  struct Part;
  // What every slot begins with.
  struct SlotBase {
    ShardId shard = kNoShard;  // kNoShard: nothing to do, it has its answer
    Part* part = nullptr;
    Slot* next = nullptr;
  };

  struct Part {
    Part(FanOut* its_all, ShardId its_shard)
        : all(its_all), shard(its_shard), message(Message::bind<&Part::arrived>(this)) {}

    void run(BrokerShard& where) {
      here = &where;
      pending = 1;  // held until every slot has been started
      for (Slot* slot = first; slot != nullptr;) {
        Slot* following = slot->next;
        ++pending;
        if (all->run_(where, *slot)) finish_one();
        slot = following;
      }
      finish_one();
    }
    void finish_one() {
      if (--pending > 0) return;
      if (here == &all->home_) return all->part_done();
      finished = true;
      here->shard.send(all->home_.shard.id(), message);
    }
    void arrived(Shard& at) {
      if (finished) return all->part_done();
      run(at.context<BrokerShard>());
    }

    FanOut* all;
    ShardId shard;
    Slot* first = nullptr;
    Slot* last = nullptr;
    Part* next_part = nullptr;
    BrokerShard* here = nullptr;
    int pending = 0;
    bool finished = false;
    Message message;
  };

  FanOut(BrokerShard& home, Request& request, Run run, Done done)
      : home_(home), request_(request), run_(run), done_(done) {}

  void start(std::span<Slot> slots) {
    for (Slot& slot : slots)
      if (slot.shard != kNoShard) add(slot);
    if (parts_ != nullptr) request_.works_on(parts_->next_part == nullptr ? parts_->shard : kNoShard);
    parts_pending_ = 1;  // held until every part has been sent
    Part* local = nullptr;
    for (Part* part = parts_; part != nullptr; part = part->next_part) {
      ++parts_pending_;
      if (part->shard == home_.shard.id()) {
        local = part;
        continue;
      }
      ++home_.counters.requests_hopped;
      home_.shard.send(part->shard, part->message);
    }
    if (local != nullptr) local->run(home_);
    part_done();
  }

  static void finish(Slot& slot) { slot.part->finish_one(); }

 private:
  void add(Slot& slot) {
    Part* part = parts_;
    while (part != nullptr && part->shard != slot.shard) part = part->next_part;
    if (part == nullptr) {
      part = &request_.template make_state<Part>(this, slot.shard);
      part->next_part = parts_;
      parts_ = part;
    }
    slot.part = part;
    (part->last != nullptr ? part->last->next : part->first) = &slot;
    part->last = &slot;
  }
  void part_done() {
    if (--parts_pending_ == 0) done_(home_, request_);
  }

  BrokerShard& home_;
  Request& request_;
  Run run_;
  Done done_;
  Part* parts_ = nullptr;
  int parts_pending_ = 0;
};

}  // namespace pelton::broker
