#include "broker/fetch/fetch_part.h"

#include <algorithm>

#include "broker/leader_epoch.h"
#include "broker/partition_set.h"

namespace pelton::broker {

using proto::ErrorCode;

FetchPart::FetchPart(DelayedFetch& fetch, ShardId shard)
    : fetch_(fetch),
      shard_(shard),
      timer_(Timer::bind<&FetchPart::expire>(this)),
      command_message_(Message::bind<&FetchPart::commanded>(this)),
      collect_message_(Message::bind<&FetchPart::collected>(this)),
      report_message_(Message::bind<&FetchPart::reported_home>(this)),
      ack_message_(Message::bind<&FetchPart::reported_home>(this)) {}

void FetchPart::add(FetchSlot& slot) {
  slot.part = this;
  (last_ != nullptr ? last_->next : first_) = &slot;
  last_ = &slot;
}

void FetchPart::watch(uint64_t trigger) {
  trigger_ = trigger;
  command(Command::kWatch);
}

void FetchPart::command(Command next_command) {
  command_ = next_command;
  BrokerShard& home = fetch_.home_;
  if (shard_ == home.shard.id()) {
    here_ = &home;
    return carry_out();
  }
  ++home.counters.requests_hopped;
  home.shard.send(shard_, command_message_);
}

void FetchPart::commanded(Shard& at) {
  here_ = &at.context<BrokerShard>();
  carry_out();
}

void FetchPart::carry_out() {
  if (command_ == Command::kWatch) return start_watching();
  read_all();
  if (command_ == Command::kRead || enough()) return report();
  Loop& loop = here_->shard.loop();
  loop.timers().start(timer_, loop.now_ns() + fetch_.wait_ns());
  ++here_->delayed_fetches;
  trigger_ = fetch_.enough_bytes();
  start_watching();
}

bool FetchPart::enough() {
  if (fetch_.limits_.max_wait_ms <= 0 || here_->stopping) return true;
  for (FetchSlot* slot = first_; slot != nullptr; slot = slot->next)
    if (slot->error != ErrorCode::kNone || slot->diverging.leader_epoch >= 0) return true;
  return bytes_ >= static_cast<uint64_t>(std::max(fetch_.limits_.min_bytes, 0));
}

void FetchPart::expire() { end_watching(); }

void FetchPart::collect() {
  if (shard_ != fetch_.home_.shard.id()) return fetch_.home_.shard.send(shard_, collect_message_);
  if (watches_linked_) end_watching();
  fetch_.reported();  // and this is acknowledged
}

void FetchPart::collected(Shard& at) {
  // Either the watch has ended by itself and its report is on the way, or it ends now.
  if (watches_linked_) end_watching();
  at.send(fetch_.home_.shard.id(), ack_message_);
}

void FetchPart::report() {
  if (here_ == &fetch_.home_) return fetch_.reported();
  here_->shard.send(fetch_.home_.shard.id(), report_message_);
}

void FetchPart::reported_home(Shard&) { fetch_.reported(); }

void FetchPart::read_all() {
  bytes_ = 0;
  for (FetchSlot* slot = first_; slot != nullptr; slot = slot->next) {
    read_slot(*slot);
    bytes_ += slot->slice.length;
  }
}

bool FetchPart::check_epoch(FetchSlot& slot, const Partition& partition) {
  slot.error = check_leader_epoch(slot.current_leader_epoch, partition.leader_epoch());
  if (slot.error == ErrorCode::kNone) return true;
  // A client that is ahead of us learns nothing from our epoch.
  if (slot.error == ErrorCode::kFencedLeaderEpoch) {
    slot.leader_id = here_->config.node_id;
    slot.leader_epoch = partition.leader_epoch();
  }
  return false;
}

void FetchPart::refuse(FetchSlot& slot, ErrorCode error) {
  slot.error = error;
  slot.high_watermark = slot.last_stable_offset = slot.log_start_offset = -1;
}

void FetchPart::read_slot(FetchSlot& slot) {
  slot.slice = {};
  slot.aborted.clear();
  slot.error = ErrorCode::kNone;
  Partition* partition = here_->partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr) {
    // A shard owns what the catalog gives it, so what is missing has been deleted.
    slot.error = ErrorCode::kUnknownTopicOrPartition;
    return;
  }
  if (partition->retired()) {
    slot.error = ErrorCode::kNotLeaderOrFollower;
    return;
  }
  if (!check_epoch(slot, *partition)) return;
  storage::Log& log = partition->log();
  if (log.failed()) {
    slot.error = ErrorCode::kKafkaStorageError;
    return;
  }
  // Both are taken before the read: the answer never tells less than what it carries.
  const storage::LogPosition& limit =
      fetch_.limits_.read_committed ? partition->last_stable() : partition->high_watermark();
  slot.high_watermark = partition->high_watermark().offset;
  slot.last_stable_offset = partition->last_stable().offset;
  slot.log_start_offset = log.log_start_offset();
  if (slot.last_fetched_epoch >= 0) {
    storage::EpochEnd end = log.end_of_epoch(slot.last_fetched_epoch);
    if (end.leader_epoch < 0) return refuse(slot, ErrorCode::kOffsetOutOfRange);
    if (end.leader_epoch < slot.last_fetched_epoch || end.end_offset < slot.fetch_offset) {
      slot.diverging = end;
      return;
    }
  }
  // More than the whole answer holds is not read here, whatever the other parts find.
  uint64_t left = static_cast<uint64_t>(std::max(fetch_.limits_.max_bytes, 0));
  left -= std::min(left, bytes_);
  uint64_t most = std::min<uint64_t>(left, static_cast<uint64_t>(std::max(slot.max_bytes, 0)));
  auto slice = log.read(slot.fetch_offset, static_cast<uint32_t>(most), limit,
                        /*first_batch_whole=*/left > 0 || bytes_ == 0);
  if (!slice) return refuse(slot, slice.error());
  slot.slice = std::move(*slice);
  if (!fetch_.limits_.read_committed || slot.slice.length == 0) return;
  auto aborted = log.aborted_transactions(slot.fetch_offset, slot.slice);
  if (!aborted) {
    slot.slice = {};
    return refuse(slot, aborted.error());
  }
  slot.aborted = std::move(*aborted);
}

bool FetchPart::measure(FetchSlot& slot) {
  slot.available = 0;
  Partition* partition = here_->partitions->find(slot.topic_id, slot.index);
  if (partition == nullptr || partition->retired() || partition->log().failed()) return false;
  if (here_->stopping) return false;
  if (slot.fetch_offset < partition->log().log_start_offset()) return false;
  const storage::LogPosition& limit =
      fetch_.limits_.read_committed ? partition->last_stable() : partition->high_watermark();
  if (slot.fetch_offset >= limit.offset) return true;
  uint64_t between = partition->log().bytes_between(slot.start, limit);
  slot.available = std::min<uint64_t>(between, static_cast<uint64_t>(std::max(slot.max_bytes, 0)));
  return true;
}

void FetchPart::start_watching() {
  available_ = 0;
  bool wait = true;
  for (FetchSlot* slot = first_; slot != nullptr; slot = slot->next) {
    slot->slice = {};  // a waiting fetch pins nothing
    Partition* partition = here_->partitions->find(slot->topic_id, slot->index);
    if (partition == nullptr) {
      wait = false;
      continue;
    }
    slot->start = partition->log().position_of(slot->fetch_offset).value_or(partition->log().written_end());
    wait = measure(*slot) && wait;
    available_ += slot->available;
    slot->watch.owner = slot;
    slot->watch.moved = &FetchPart::moved;
    partition->watch(slot->watch);
  }
  watches_linked_ = true;
  if (!wait || available_ >= trigger_) end_watching();
}

void FetchPart::end_watching() {
  stop_watching();
  read_all();
  report();
}

void FetchPart::moved(void* slot) {
  auto* its = static_cast<FetchSlot*>(slot);
  its->part->on_moved(*its);
}

void FetchPart::on_moved(FetchSlot& slot) {
  uint64_t before = slot.available;
  bool wait = measure(slot);
  available_ += slot.available - before;
  if (!wait || available_ >= trigger_) end_watching();
}

void FetchPart::stop_watching() {
  watches_linked_ = false;
  if (command_ == Command::kServe) {
    here_->shard.loop().timers().cancel(timer_);
    --here_->delayed_fetches;
  }
  for (FetchSlot* slot = first_; slot != nullptr; slot = slot->next) slot->watch.unlink();
}

}  // namespace pelton::broker
