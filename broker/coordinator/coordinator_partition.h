// CoordinatorPartition: the runtime of one partition of a coordinator's topic: loads its log into a
// state machine, turns the machine's events into batches, and tells what waits when they are
// committed.
//
//   NotLoaded --start_loading--> Loading --load_slice--> Active
//                                    \-> Failed            \-- a write failed --> NotLoaded, to be
//                                    loaded again
//
// Owner shard: the partition's. Lifetime: the log outlives it.
// Invariants: records reach the log in the order of write(). While a batch is not committed its
// bytes stay. All events of a turn share a batch as far as they fit. What waits is bounded, in
// number (see error()) and in time (see WriteOptions).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/coordinator/coordinator_log.h"
#include "broker/coordinator/log_replay.h"
#include "broker/coordinator/state_machine.h"
#include "proto/batch_builder.h"
#include "proto/compression.h"

namespace pelton::broker::coordinator {

class CoordinatorPartition;

// Who drives the partitions of a shard.
class CoordinatorHost {
 public:
  // flush() should be called at the end of this turn.
  virtual void wants_flush(CoordinatorPartition& partition) = 0;
  // A write failed and everything that waited was answered; load it again.
  virtual void wants_reload(CoordinatorPartition& partition) = 0;

 protected:
  ~CoordinatorHost() = default;
};

struct WriteOptions {
  proto::Codec codec = proto::Codec::kNone;
  // What waits longer for its commit is told so; its records may be committed later all the same.
  int32_t timeout_ms = 5'000;
};

class CoordinatorPartition final : public RecordWriter {
 public:
  CoordinatorPartition(CoordinatorHost& host, Environment& environment,
                       StateMachineFactory& factory, std::unique_ptr<CoordinatorLog> log,
                       const WriteOptions& options);
  ~CoordinatorPartition();
  CoordinatorPartition(const CoordinatorPartition&) = delete;
  CoordinatorPartition& operator=(const CoordinatorPartition&) = delete;

  enum class State { kNotLoaded, kLoading, kActive, kFailed };
  State state() const { return state_; }
  // What a request gets now: kNone when active and with room for another event.
  proto::ErrorCode error() const;
  // The machine; active only.
  StateMachine& machine() { return *machine_; }

  // True when it began; false while writes are still out (wants_reload comes again).
  bool start_loading();
  // Replays up to `budget` bytes of the log (at least a batch) and takes them off it. Returns
  // whether loading is over, then active or failed.
  bool load_slice(size_t& budget);
  const std::string& failure() const { return failure_; }

  // --- RecordWriter ---
  void write(const RecordBuffer& records, Replay replay, Continuation* then) override;
  bool fits(const RecordBuffer& records) const override;
  void after_pending(Continuation& then) override;
  bool write_each(const RecordBuffer& records) override;

  // Hands what was written in this turn to the log.
  void flush();
  // Answers everything that waits with `error` and forgets the state. Before the log goes.
  void unload(proto::ErrorCode error);

  static constexpr size_t kMaxPending = 10'000;

 private:
  // A batch in the log that is not committed yet, and what waits for it.
  struct Write {
    CoordinatorPartition* owner;
    CommitWaiter waiter;
    std::vector<uint8_t> bytes;
    std::vector<Continuation*> waiting;
    uint64_t deadline_ns = 0;
  };

  // Closes the batch that is being filled when `bytes` more do not fit, and opens one if there is
  // none.
  void make_room(size_t bytes);
  void put(const RecordBuffer& records, size_t index, Replay replay);
  void append_to_log();
  void build(std::vector<uint8_t>& bytes);
  void watch_for_timeout();
  void on_timeout();
  void on_committed(Write& write, proto::ErrorCode error);
  void fail(proto::ErrorCode error, std::vector<Continuation*>* first);
  void unload_with(proto::ErrorCode error, std::vector<Continuation*>* first);
  void call_all(std::vector<Continuation*>& waiting, proto::ErrorCode error);
  std::unique_ptr<Write> take_write();

  CoordinatorHost& host_;
  Environment& environment_;
  StateMachineFactory& factory_;
  std::unique_ptr<CoordinatorLog> log_;
  const WriteOptions options_;
  State state_ = State::kNotLoaded;
  std::unique_ptr<StateMachine> machine_;
  std::optional<LogReplay> replay_;
  std::string failure_;

  // The batch being filled in this turn.
  std::optional<proto::BatchBuilder> batch_;
  int64_t batch_base_offset_ = 0;
  std::vector<Continuation*> batch_waiting_;
  proto::ErrorCode append_error_ = proto::ErrorCode::kNone;  // of this turn
  std::vector<Continuation*> too_large_;                     // told at the end of the turn

  std::vector<std::unique_ptr<Write>> writes_;  // in the order of their offsets
  std::vector<std::unique_ptr<Write>> spare_writes_;
  size_t pending_ = 0;  // continuations that wait
  bool reload_wanted_ = false;
  Timer timeout_ = Timer::bind<&CoordinatorPartition::on_timeout>(this);
};

// The error a client gets when a coordinator's write failed with `error`.
proto::ErrorCode client_error(proto::ErrorCode error);

}  // namespace pelton::broker::coordinator
