#include "broker/coordinator/coordinator_partition.h"

#include <algorithm>

#include "reactor/base/check.h"

namespace pelton::broker::coordinator {

using proto::ErrorCode;

ErrorCode client_error(ErrorCode error) {
  switch (error) {
    case ErrorCode::kUnknownTopicOrPartition:
    case ErrorCode::kNotEnoughReplicas:
    case ErrorCode::kRequestTimedOut:
      return ErrorCode::kCoordinatorNotAvailable;
    case ErrorCode::kNotLeaderOrFollower:
    case ErrorCode::kKafkaStorageError:
      return ErrorCode::kNotCoordinator;
    case ErrorCode::kMessageTooLarge:
    case ErrorCode::kRecordListTooLarge:
    case ErrorCode::kInvalidFetchSize:
      return ErrorCode::kUnknownServerError;
    default:
      return error;
  }
}

CoordinatorPartition::CoordinatorPartition(CoordinatorHost& host, Environment& environment,
                                           StateMachineFactory& factory,
                                           std::unique_ptr<CoordinatorLog> log,
                                           const WriteOptions& options)
    : host_(host),
      environment_(environment),
      factory_(factory),
      log_(std::move(log)),
      options_(options) {}

CoordinatorPartition::~CoordinatorPartition() { unload(ErrorCode::kNotCoordinator); }

ErrorCode CoordinatorPartition::error() const {
  switch (state_) {
    case State::kNotLoaded:
    case State::kLoading:
      return ErrorCode::kCoordinatorLoadInProgress;
    case State::kFailed:
      return ErrorCode::kNotCoordinator;
    case State::kActive:
      break;
  }
  // Overload: the one error that makes every client wait and try again here.
  return pending_ < kMaxPending ? ErrorCode::kNone : ErrorCode::kCoordinatorLoadInProgress;
}

bool CoordinatorPartition::start_loading() {
  CHECK(state_ == State::kNotLoaded);
  if (!writes_.empty()) {
    reload_wanted_ = true;
    return false;
  }
  reload_wanted_ = false;
  machine_ = factory_.make(*this);
  replay_.emplace(*log_, *machine_);
  state_ = State::kLoading;
  return true;
}

bool CoordinatorPartition::load_slice(size_t& budget) {
  CHECK(state_ == State::kLoading);
  LogReplay::Step step = replay_->step(budget);
  if (step == LogReplay::Step::kMore) return false;
  if (step == LogReplay::Step::kFailed) {
    failure_ = replay_->failure();
    state_ = State::kFailed;
    machine_->unloaded(ErrorCode::kNotCoordinator);
    machine_.reset();
  } else {
    state_ = State::kActive;
    machine_->loaded();
  }
  replay_.reset();
  return true;
}

void CoordinatorPartition::write(const RecordBuffer& records, Replay replay, Continuation* then) {
  CHECK(state_ == State::kActive, "only an active coordinator writes");
  if (records.empty()) {
    CHECK(then != nullptr, "an event without records and without an answer");
    after_pending(*then);
    return;
  }
  host_.wants_flush(*this);
  if (!fits(records)) {
    if (then == nullptr) return;
    ++pending_;
    too_large_.push_back(then);
    return;
  }
  make_room(records.batch_bytes());
  for (size_t i = 0; i < records.count(); ++i) put(records, i, replay);
  if (then == nullptr) return;
  ++pending_;
  batch_waiting_.push_back(then);
}

bool CoordinatorPartition::fits(const RecordBuffer& records) const {
  return proto::kBatchHeaderSize + records.batch_bytes() <= log_->max_batch_bytes();
}

bool CoordinatorPartition::write_each(const RecordBuffer& records) {
  CHECK(state_ == State::kActive, "only an active coordinator writes");
  if (records.empty()) return true;
  bool all = true;
  host_.wants_flush(*this);
  for (size_t i = 0; i < records.count(); ++i) {
    size_t bytes = records.batch_bytes(i);
    if (proto::kBatchHeaderSize + bytes > log_->max_batch_bytes()) {
      all = false;
      continue;
    }
    make_room(bytes);
    put(records, i, Replay::kYes);
  }
  return all;
}

void CoordinatorPartition::make_room(size_t bytes) {
  if (batch_ && batch_->uncompressed_size() + bytes > log_->max_batch_bytes()) append_to_log();
  if (batch_) return;
  batch_.emplace(proto::BatchOptions{.codec = options_.codec});
  batch_base_offset_ = log_->next_offset();
}

void CoordinatorPartition::put(const RecordBuffer& records, size_t index, Replay replay) {
  ReplayedRecord record{.offset = batch_base_offset_ + batch_->count(),
                        .key = records.key(index),
                        .value = records.value(index)};
  batch_->append(environment_.wall_ms(), record.key, record.value);
  if (replay == Replay::kYes) CHECK(machine_->replay(record), "its own record can be replayed");
}

void CoordinatorPartition::after_pending(Continuation& then) {
  std::vector<Continuation*>* waiting = nullptr;
  if (batch_) {
    waiting = &batch_waiting_;
  } else if (!writes_.empty()) {
    waiting = &writes_.back()->waiting;
  }
  if (waiting == nullptr) {
    then.done(ErrorCode::kNone);
    return;
  }
  ++pending_;
  waiting->push_back(&then);
}

void CoordinatorPartition::flush() {
  if (batch_) append_to_log();
  if (append_error_ != ErrorCode::kNone) {
    fail(append_error_, nullptr);
    return;
  }
  call_all(too_large_, ErrorCode::kUnknownServerError);
}

void CoordinatorPartition::append_to_log() {
  std::unique_ptr<Write> write = take_write();
  build(write->bytes);
  batch_.reset();
  // After a failure nothing more goes to this log; flush() answers what waits and drops the state.
  // Not here: the machine may be the caller.
  if (append_error_ == ErrorCode::kNone) {
    append_error_ = log_->append(write->bytes, environment_.wall_ms());
  }
  if (append_error_ != ErrorCode::kNone) return;
  std::swap(write->waiting, batch_waiting_);
  write->waiter.offset = log_->next_offset();
  write->deadline_ns =
      environment_.now_ns() + static_cast<uint64_t>(options_.timeout_ms) * 1'000'000;
  Write* waiting = write.get();
  writes_.push_back(std::move(write));
  log_->wait_committed(waiting->waiter);
  watch_for_timeout();
}

void CoordinatorPartition::build(std::vector<uint8_t>& bytes) {
  // Compression may lack memory; the records come first.
  if (batch_->build(bytes)) return;
  bytes.clear();
  batch_->set_codec(proto::Codec::kNone);
  CHECK(batch_->build(bytes).has_value(), "a batch without compression can be built");
}

// For the oldest write that something waits for.
void CoordinatorPartition::watch_for_timeout() {
  if (timeout_.active()) return;
  auto oldest = std::ranges::find_if(writes_, [](const auto& write) { return !write->waiting.empty(); });
  if (oldest != writes_.end()) environment_.timers().start(timeout_, (*oldest)->deadline_ns);
}

void CoordinatorPartition::on_timeout() {
  std::vector<Continuation*> late;
  for (const auto& write : writes_) {
    if (write->deadline_ns > environment_.now_ns()) break;
    late.insert(late.end(), write->waiting.begin(), write->waiting.end());
    write->waiting.clear();
  }
  watch_for_timeout();
  call_all(late, client_error(ErrorCode::kRequestTimedOut));
}

std::unique_ptr<CoordinatorPartition::Write> CoordinatorPartition::take_write() {
  if (!spare_writes_.empty()) {
    std::unique_ptr<Write> write = std::move(spare_writes_.back());
    spare_writes_.pop_back();
    return write;
  }
  auto write = std::make_unique<Write>();
  write->owner = this;
  write->waiter.owner = write.get();
  write->waiter.done = [](void* owner, ErrorCode error) {
    Write& done = *static_cast<Write*>(owner);
    done.owner->on_committed(done, error);
  };
  return write;
}

void CoordinatorPartition::on_committed(Write& write, ErrorCode error) {
  auto at = std::find_if(writes_.begin(), writes_.end(),
                         [&](const auto& one) { return one.get() == &write; });
  CHECK(at != writes_.end());
  std::unique_ptr<Write> done = std::move(*at);
  writes_.erase(at);
  if (error != ErrorCode::kNone) {
    fail(error, &done->waiting);
    return;
  }
  call_all(done->waiting, ErrorCode::kNone);
  constexpr size_t kSpareWrites = 2;
  constexpr size_t kSpareBytes = 64 * 1024;
  if (spare_writes_.size() < kSpareWrites && done->bytes.capacity() <= kSpareBytes) {
    done->bytes.clear();
    spare_writes_.push_back(std::move(done));
  }
  if (writes_.empty() && reload_wanted_) host_.wants_reload(*this);
}

// The log did not take what the state already shows: the state is dropped and loaded again.
void CoordinatorPartition::fail(ErrorCode error, std::vector<Continuation*>* first) {
  if (state_ == State::kActive) {
    unload_with(client_error(error), first);
    reload_wanted_ = true;
  }
  if (writes_.empty() && reload_wanted_) host_.wants_reload(*this);
}

void CoordinatorPartition::unload(ErrorCode error) { unload_with(error, nullptr); }

void CoordinatorPartition::unload_with(ErrorCode error, std::vector<Continuation*>* first) {
  if (state_ == State::kFailed || state_ == State::kNotLoaded) return;
  state_ = State::kNotLoaded;
  replay_.reset();
  batch_.reset();
  environment_.timers().cancel(timeout_);
  append_error_ = ErrorCode::kNone;
  // The machine forgets first: what the continuations look for in it is gone.
  machine_->unloaded(error);
  if (first != nullptr) call_all(*first, error);
  // The bytes are the log's until it has called each waiter; nobody waits for them any more.
  for (auto& write : writes_) call_all(write->waiting, error);
  call_all(batch_waiting_, error);
  call_all(too_large_, error);
  machine_.reset();
}

void CoordinatorPartition::call_all(std::vector<Continuation*>& waiting, ErrorCode error) {
  // A continuation may cause further events, never further waiting on this write.
  std::vector<Continuation*> now;
  std::swap(now, waiting);
  pending_ -= now.size();
  for (Continuation* continuation : now) continuation->done(error);
  now.clear();
  if (waiting.empty()) std::swap(now, waiting);
}

}  // namespace pelton::broker::coordinator
