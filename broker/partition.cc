#include "broker/partition.h"

#include "broker/notices.h"
#include "reactor/base/check.h"

namespace pelton::broker {

Partition::Partition(Notices& notices, storage::TopicPartition id, Uuid topic_id, int32_t leader_epoch,
                     bool always_synced)
    : notices_(notices),
      id_(std::move(id)),
      topic_id_(topic_id),
      leader_epoch_(leader_epoch),
      always_synced_(always_synced) {}

Partition::~Partition() {
  CHECK(committed_waiters_.empty() && written_waiters_.empty(), "retire the partition first");
}

void Partition::attach(std::unique_ptr<storage::Log> log, const storage::LogConfig& config) {
  log_ = std::move(log);
  set_config(config);
  // What survived the last stop is committed: this replica is the whole of the partition.
  high_watermark_ = log_->written_end();
  find_last_stable();
  log_->begin_leader_epoch(leader_epoch_);
}

storage::LogConfig Partition::effective(const storage::LogConfig& config, bool always_synced) {
  storage::LogConfig effective = config;
  if (always_synced) effective.flush_messages = 1;
  return effective;
}

void Partition::set_config(const storage::LogConfig& config) {
  config_ = effective(config, always_synced_);
  log_->set_config(config_);
  // Who waits for a sync waits no more when it has become enough that the batch is written.
  if (!synced_policy()) advance_high_watermark(log_->written_end());
}

storage::AppendResult Partition::append(MutableBytes batch, storage::AppendOrigin origin,
                                        int64_t now_ms, int16_t transaction_version) {
  if (retired_) return {.error = proto::ErrorCode::kNotLeaderOrFollower};
  return log_->append(batch, leader_epoch_, origin, now_ms, transaction_version);
}

void Partition::wait_committed(CommitWaiter& waiter) {
  if (retired_) return waiter.done(waiter.owner, proto::ErrorCode::kNotLeaderOrFollower);
  if (waiter.offset <= high_watermark_.offset)
    return waiter.done(waiter.owner, proto::ErrorCode::kNone);
  wait_in(committed_waiters_, waiter);
}

void Partition::wait_written(CommitWaiter& waiter) {
  if (retired_) return waiter.done(waiter.owner, proto::ErrorCode::kNotLeaderOrFollower);
  if (waiter.offset <= log_->written_end().offset)
    return waiter.done(waiter.owner, proto::ErrorCode::kNone);
  wait_in(written_waiters_, waiter);
}

void Partition::wait_in(Waiters& waiters, CommitWaiter& waiter) {
  // Nearly always the last place: only a repeated batch waits for an offset before others.
  auto place = waiters.end();
  while (place != waiters.begin() && std::prev(place)->offset > waiter.offset) --place;
  waiters.insert(place, waiter);
}

void Partition::wake_up_to(Waiters& waiters, int64_t end_offset) {
  while (!waiters.empty() && waiters.front().offset <= end_offset) {
    CommitWaiter& waiter = waiters.front();
    waiters.pop_front();
    waiter.done(waiter.owner, proto::ErrorCode::kNone);
  }
}

void Partition::fail_all(Waiters& waiters, proto::ErrorCode error) {
  while (!waiters.empty()) {
    CommitWaiter& waiter = waiters.front();
    waiters.pop_front();
    waiter.done(waiter.owner, error);
  }
}

void Partition::advance_high_watermark(const storage::LogPosition& to) {
  if (to.offset <= high_watermark_.offset) return;
  high_watermark_ = to;
  find_last_stable();
  wake_up_to(committed_waiters_, to.offset);
  notify_watches();
}

// Transactions begin and end at the log's end, so they count here when the high watermark passes them.
void Partition::find_last_stable() {
  std::optional<storage::LogPosition> unstable = log_->first_unstable(high_watermark_.offset);
  last_stable_ = unstable && unstable->offset < high_watermark_.offset ? *unstable : high_watermark_;
}

void Partition::notify_watches() {
  // A watch that is told may remove itself or be linked again: go through a list of this moment.
  IntrusiveList<PartitionWatch, WatchTag> told;
  told.swap(watches_);
  while (!told.empty()) {
    PartitionWatch& watch = told.front();
    told.pop_front();
    watches_.push_back(watch);
    watch.moved(watch.owner);
  }
}

// Waiters for what is behind the log's end.
void Partition::fail_behind(Waiters& waiters, int64_t end_offset, proto::ErrorCode error) {
  Waiters failed;
  auto first = waiters.end();
  while (first != waiters.begin() && std::prev(first)->offset > end_offset) --first;
  failed.splice(failed.end(), waiters, first, waiters.end());
  fail_all(failed, error);
}

void Partition::on_written() {
  if (suspended_at_ && log_->written_end().offset > *suspended_at_) {
    notices_.resumed.tell("{} takes records again", id_.directory_name());
    suspended_at_.reset();
  }
  wake_up_to(written_waiters_, log_->written_end().offset);
  if (!synced_policy()) advance_high_watermark(log_->written_end());
}

void Partition::on_synced() {
  if (synced_policy()) advance_high_watermark(log_->synced_end());
}

void Partition::on_suspended(SysError error) {
  if (!suspended_at_) {
    notices_.suspended.tell("{} cannot take records now: {}; it tries again every second",
                            id_.directory_name(), to_string(error));
  }
  int64_t end = log_->written_end().offset;
  suspended_at_ = end;
  fail_behind(written_waiters_, end, proto::ErrorCode::kKafkaStorageError);
  fail_behind(committed_waiters_, end, proto::ErrorCode::kKafkaStorageError);
}

void Partition::on_log_failed(SysError error) {
  if (!retired_) {
    notices_.failed.tell("{} failed: {}; a restart looks at what is on the disk", id_.directory_name(),
                         to_string(error));
  }
  fail_all(written_waiters_, proto::ErrorCode::kKafkaStorageError);
  fail_all(committed_waiters_, proto::ErrorCode::kKafkaStorageError);
  notify_watches();
}

void Partition::retire(proto::ErrorCode error) {
  retired_ = true;
  fail_all(written_waiters_, error);
  fail_all(committed_waiters_, error);
  notify_watches();
}

void Partition::raise_log_start(int64_t offset) {
  if (offset <= log_->log_start_offset()) return;
  log_->set_log_start_offset(offset);
  find_last_stable();
  notify_watches();
}

int Partition::apply_retention(int64_t now_ms) {
  int64_t before = log_->log_start_offset();
  int deleted = log_->apply_retention(now_ms, high_watermark_.offset);
  if (log_->log_start_offset() == before) return deleted;
  find_last_stable();
  notify_watches();
  return deleted;
}

std::unique_ptr<storage::Log> Partition::release_log() {
  CHECK(retired_);
  return std::move(log_);
}

}  // namespace pelton::broker
