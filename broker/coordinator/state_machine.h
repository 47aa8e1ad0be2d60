// The contract between the coordinator runtime and what it runs (groups; later transactions and
// share state): an event gives records, records are written, what waits for them is told when they
// are committed; hard state changes only by replaying records.
//
// Everything here belongs to the coordinator partition's owner shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "broker/coordinator/record_buffer.h"
#include "proto/error_code.h"
#include "reactor/base/bytes.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker::coordinator {

// Told once how a write ended. Whoever implements it says who owns it: the runtime does not touch
// it after done().
class Continuation {
 public:
  // kNone: committed. Otherwise the error for the client.
  virtual void done(proto::ErrorCode error) = 0;

 protected:
  ~Continuation() = default;
};

enum class Replay : bool {
  kNo,   // the state already is what the records say, or takes it over when they are committed
  kYes,  // replayed at once; taken back if the write fails, by loading the log again
};

// Where a state machine puts the records of an event. Several events share a batch.
class RecordWriter {
 public:
  // `then` may be nullptr; it is not called from inside write() when there are records. Records too
  // large for one batch are not written and not replayed; `then` gets kUnknownServerError.
  virtual void write(const RecordBuffer& records, Replay replay, Continuation* then) = 0;
  // Whether they are not too large.
  virtual bool fits(const RecordBuffer& records) const = 0;
  // Calls `then` when everything written so far is committed: at once if nothing is pending.
  virtual void after_pending(Continuation& then) = 0;
  // The same for records that need not be in one batch; replayed at once. Whoever waits for them calls
  // after_pending(). False: some are too large for any batch, and were left out.
  virtual bool write_each(const RecordBuffer& records) = 0;

 protected:
  ~RecordWriter() = default;
};

// The machine's clock, timers and randomness; by hand in tests.
class Environment {
 public:
  virtual TimerWheel& timers() = 0;
  virtual uint64_t now_ns() = 0;
  virtual int64_t wall_ms() = 0;
  virtual uint64_t random() = 0;

 protected:
  ~Environment() = default;
};

struct ReplayedRecord {
  int64_t offset = -1;
  int64_t producer_id = -1;  // of a transaction, when not -1
  Bytes key;
  std::optional<Bytes> value;
};

class StateMachine {
 public:
  virtual ~StateMachine() = default;
  // False: the record cannot be read; the coordinator partition cannot be loaded.
  virtual bool replay(const ReplayedRecord& record) = 0;
  // The marker that ends a transaction's records.
  virtual void replay_transaction_end(int64_t producer_id, bool committed) = 0;
  // The whole log was replayed: timers may start.
  virtual void loaded() = 0;
  // Answers everything that waits, with `error`, and forgets its state. Continuations that it gave
  // are still called afterwards.
  virtual void unloaded(proto::ErrorCode error) = 0;
};

class StateMachineFactory {
 public:
  virtual std::unique_ptr<StateMachine> make(RecordWriter& writer) = 0;

 protected:
  ~StateMachineFactory() = default;
};

}  // namespace pelton::broker::coordinator
