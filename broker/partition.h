// Partition: the broker's side of one log: role, epochs, high watermark, and who waits for what.
//
// Owner shard: the one the catalog's snapshot names. Lifetime: from the snapshot that has it until the
// snapshot that has not; waiters are answered (kUnknownTopicOrPartition) before it goes.
// Invariants: high watermark <= "committed end" of the policy: with one replica, the synced end on a
// topic with flush.messages=1, else the written end. last stable offset <= high watermark: it stands where
// the oldest transaction begins whose end is not committed. Neither goes back.
#pragma once

#include <cstdint>
#include <memory>

#include "proto/error_code.h"
#include "reactor/base/intrusive_list.h"
#include "storage/log.h"
#include "storage/log_dir.h"

namespace pelton::broker {

struct Notices;

// Waits until everything below `offset` is committed (or written: acks=1). Embedded in the waiter; called
// once with kNone, kKafkaStorageError, kUnknownTopicOrPartition (deleted) or kNotLeaderOrFollower (the
// broker stops). Unlinks itself when destroyed.
struct CommitTag;
struct CommitWaiter : ListHook<CommitTag> {
  int64_t offset = 0;
  void* owner = nullptr;
  void (*done)(void* owner, proto::ErrorCode error) = nullptr;
};

// Told when readers can see more or other things: the high watermark (and with it the last stable offset) or
// the log start moved, or the partition is going away. Stays linked until removed.
struct WatchTag;
struct PartitionWatch : ListHook<WatchTag> {
  void* owner = nullptr;
  void (*moved)(void* owner) = nullptr;
};

class Partition final : public storage::LogObserver {
 public:
  // always_synced: records are on stable storage before they are committed, whatever flush.messages
  // says (internal topics).
  Partition(Notices& notices, storage::TopicPartition id, Uuid topic_id, int32_t leader_epoch,
            bool always_synced);
  ~Partition() override;
  void attach(std::unique_ptr<storage::Log> log, const storage::LogConfig& config);
  // The configuration its log runs with.
  static storage::LogConfig effective(const storage::LogConfig& config, bool always_synced);

  const storage::TopicPartition& id() const { return id_; }
  Uuid topic_id() const { return topic_id_; }
  int32_t leader_epoch() const { return leader_epoch_; }
  storage::Log& log() { return *log_; }
  const storage::LogConfig& config() const { return config_; }
  // At any time: what a changed configuration of the topic makes of the log.
  void set_config(const storage::LogConfig& config);

  const storage::LogPosition& high_watermark() const { return high_watermark_; }
  const storage::LogPosition& last_stable() const { return last_stable_; }

  // Appends a validated batch as leader. The bytes stay until the waiter for it has run.
  storage::AppendResult append(MutableBytes batch, storage::AppendOrigin origin, int64_t now_ms,
                               int16_t transaction_version = 0);
  void wait_committed(CommitWaiter& waiter);  // acks=all
  void wait_written(CommitWaiter& waiter);    // acks=1 and acks=0 (for the bytes' sake)
  void watch(PartitionWatch& watch) { watches_.push_back(watch); }

  // Records below `offset`, which is not above the high watermark, are gone for readers.
  void raise_log_start(int64_t offset);
  // Deletes what is past the limits, a bounded number of segments; returns how many.
  int apply_retention(int64_t now_ms);

  // Makes whoever watches look again (the shard is stopping).
  void end_waits() { notify_watches(); }
  // Ends every wait with `error`; the partition takes nothing more.
  void retire(proto::ErrorCode error);
  bool retired() const { return retired_; }
  // Hands the log over for deletion or closing, after retire.
  std::unique_ptr<storage::Log> release_log();

  // --- storage::LogObserver ---
  void on_written() override;
  void on_synced() override;
  void on_suspended(SysError error) override;
  void on_log_failed(SysError error) override;

 private:
  using Waiters = IntrusiveList<CommitWaiter, CommitTag>;
  bool synced_policy() const { return config_.synced(); }
  void notify_watches();
  void advance_high_watermark(const storage::LogPosition& to);
  void find_last_stable();
  static void wait_in(Waiters& waiters, CommitWaiter& waiter);
  static void wake_up_to(Waiters& waiters, int64_t end_offset);
  static void fail_all(Waiters& waiters, proto::ErrorCode error);
  static void fail_behind(Waiters& waiters, int64_t end_offset, proto::ErrorCode error);

  Notices& notices_;  // of its shard
  storage::TopicPartition id_;
  Uuid topic_id_;
  int32_t leader_epoch_;
  bool always_synced_;
  bool retired_ = false;
  std::optional<int64_t> suspended_at_;  // the log's end then
  storage::LogConfig config_;
  std::unique_ptr<storage::Log> log_;
  storage::LogPosition high_watermark_;
  storage::LogPosition last_stable_;
  Waiters committed_waiters_;
  Waiters written_waiters_;
  IntrusiveList<PartitionWatch, WatchTag> watches_;
};

}  // namespace pelton::broker
