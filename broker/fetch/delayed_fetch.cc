#include "broker/fetch/delayed_fetch.h"

#include <algorithm>

#include "broker/fetch/fetch_part.h"

namespace pelton::broker {

using proto::ErrorCode;

DelayedFetch::DelayedFetch(BrokerShard& home, Request& request, const Limits& limits, Done done)
    : home_(home),
      request_(request),
      limits_(limits),
      done_(done),
      timer_(Timer::bind<&DelayedFetch::expire>(this)) {}

void DelayedFetch::start(std::span<FetchSlot> slots) {
  slots_ = slots;
  for (FetchSlot& slot : slots_)
    if (slot.shard != kNoShard) add(slot);
  if (part_count_ == 0) return finish();
  request_.works_on(part_count_ == 1 ? parts_->shard() : kNoShard);
  request_.set_on_client_gone(this, [](void* self) { static_cast<DelayedFetch*>(self)->expire(); });
  expected_ = part_count_;
  watching_ = alone();  // the part may wait from now on
  commanding_ = true;
  for (FetchPart* part = parts_; part != nullptr; part = part->next) alone() ? part->serve() : part->read();
  commanding_ = false;
  if (expected_ == 0) decide();
}

void DelayedFetch::add(FetchSlot& slot) {
  FetchPart* part = parts_;
  while (part != nullptr && part->shard() != slot.shard) part = part->next;
  if (part == nullptr) {
    part = &request_.make_state<FetchPart>(*this, slot.shard);
    part->next = parts_;
    parts_ = part;
    ++part_count_;
  }
  part->add(slot);
}

void DelayedFetch::reported() {
  --expected_;
  if (commanding_) return;
  if (expected_ == 0) return decide();
  // One part is satisfied or has news while others wait: bring them in.
  if (watching_) collect();
}

void DelayedFetch::decide() {
  watching_ = false;
  if (alone() || waited_ || satisfied()) return finish();
  watch();
}

bool DelayedFetch::satisfied() {
  if (limits_.max_wait_ms <= 0 || home_.stopping) return true;
  // A partition that was refused before any read does not keep the others from waiting.
  for (const FetchSlot& slot : slots_)
    if (slot.shard != kNoShard &&
        (slot.error != ErrorCode::kNone || slot.diverging.leader_epoch >= 0))
      return true;
  uint64_t bytes = 0;
  for (const FetchPart* part = parts_; part != nullptr; part = part->next) bytes += part->bytes();
  return bytes >= static_cast<uint64_t>(std::max(limits_.min_bytes, 0));
}

void DelayedFetch::watch() {
  if (!timer_.active())
    home_.shard.loop().timers().start(timer_, home_.shard.loop().now_ns() + wait_ns());
  if (!delayed_) ++home_.delayed_fetches;
  watching_ = delayed_ = true;
  expected_ = part_count_;
  commanding_ = true;
  // One of several comes home for anything new.
  for (FetchPart* part = parts_; part != nullptr; part = part->next)
    part->watch(std::min(enough_bytes(), part->bytes() + 1));
  commanding_ = false;
  if (expected_ == 0) return decide();
  if (expected_ < part_count_) collect();
}

void DelayedFetch::collect() {
  watching_ = false;
  expected_ += part_count_;  // one acknowledgement each, besides the reports still to come
  commanding_ = true;
  for (FetchPart* part = parts_; part != nullptr; part = part->next) part->collect();
  commanding_ = false;
  if (expected_ == 0) decide();
}

void DelayedFetch::expire() {
  waited_ = true;
  if (watching_) collect();
}

void DelayedFetch::share_bytes() {
  int64_t left = limits_.max_bytes;
  bool any = false;
  for (FetchSlot& slot : slots_) {
    uint32_t take = static_cast<uint32_t>(std::clamp<int64_t>(left, 0, slot.slice.length));
    if (take < slot.slice.first_batch_bytes) take = any ? 0 : slot.slice.first_batch_bytes;
    take = std::min(take, slot.slice.length);
    slot.send_bytes = take;
    any = any || take > 0;
    left -= take;
  }
}

void DelayedFetch::finish() {
  home_.shard.loop().timers().cancel(timer_);
  if (delayed_) --home_.delayed_fetches;
  share_bytes();
  done_(home_, request_, *this);
}

}  // namespace pelton::broker
