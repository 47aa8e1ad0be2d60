#include "broker/catalog/writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "broker/catalog/metadata_log.h"
#include "broker/catalog/metadata_snapshots.h"
#include "broker/catalog/registration.h"
#include "proto/messages/metadata_records.h"
#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

// A change is one batch, so that it is there as a whole or not at all after a crash.
constexpr size_t kMaxChangeBytes = 8 << 20;
// Changes that go together in one round.
constexpr size_t kMaxRoundChanges = 256;
constexpr size_t kMaxRoundBytes = 16 << 20;
constexpr int64_t kProducerIdBlock = 1'000;
// Ids left in the block when the next one is asked for.
constexpr int64_t kProducerIdReserve = 100;

}  // namespace

// Moves the end of the ids that were ever given out.
class CatalogWriter::ProducerIdBlock final : public CatalogChange {
 public:
  explicit ProducerIdBlock(CatalogWriter& writer) : writer_(writer) {}

  bool makes_nothing() const override { return true; }

  void plan(const CatalogReplay& state, MetadataRecords& records) override {
    first_ = state.next_producer_id();
    int32_t node_id = writer_.here_.config.node_id;
    const BrokerRegistration* broker = state.broker(node_id);
    proto::ProducerIdsRecord record;
    record.broker_id = proto::BrokerId(node_id);
    record.broker_epoch = broker == nullptr ? -1 : broker->epoch;
    record.next_producer_id = first_ + kProducerIdBlock;
    records.add(record);
  }
  void done(ErrorCode error) override { writer_.on_producer_ids(error, first_); }

 private:
  CatalogWriter& writer_;
  int64_t first_ = 0;
};

CatalogWriter::CatalogWriter(BrokerShard& here)
    : here_(here),
      publication_(here, this,
                   [](void* self, bool failed) {
                     static_cast<CatalogWriter*>(self)->on_published(failed);
                   }),
      removed_(here, this, [](void* self, Status outcome) {
        static_cast<CatalogWriter*>(self)->on_forgotten(outcome);
      }) {
  replay_ = std::make_unique<CatalogReplay>(here.shard.count(), here.config);
  commit_.owner = this;
  commit_.done = [](void* self, ErrorCode error) {
    static_cast<CatalogWriter*>(self)->on_committed(error);
  };
}

CatalogWriter::~CatalogWriter() {
  CHECK(waiting_.empty() && round_.empty(), "stop() and close() the catalog's writer first");
  stopped_ = true;
  snapshots_.reset();
  if (log_ != nullptr) log_->retire(ErrorCode::kNotLeaderOrFollower);
}

Result<std::unique_ptr<CatalogWriter>, std::string> CatalogWriter::open(BrokerShard& here) {
  CHECK(here.shard.id() == kCatalogShard);
  std::unique_ptr<CatalogWriter> writer(new CatalogWriter(here));
  if (auto done = writer->load(); !done) return std::unexpected(done.error());
  return writer;
}

Result<void, std::string> CatalogWriter::load() {
  auto opened = open_metadata_log(here_, *replay_);
  if (!opened) return std::unexpected(opened.error());
  log_ = std::move(opened->partition);
  snapshots_ = std::make_unique<MetadataSnapshots>(here_, *log_);
  snapshots_->loaded(opened->bytes_behind_snapshot);
  continue_log(opened->empty, opened->bootstrap);
  snapshot_ = replay_->snapshot();
  return {};
}

// What a start adds is applied at once: nobody has seen the catalog yet, and everything later is behind
// it in the log.
void CatalogWriter::continue_log(bool empty, const std::vector<std::vector<uint8_t>>& bootstrap) {
  MetadataRecords records;
  if (empty) {
    append(leader_change_batch(here_.config.node_id, log_->leader_epoch(), here_.shard.io().wall_ms()));
    for (const auto& value : bootstrap) records.add_value(value);
    if (bootstrap.empty()) {
      records.add(proto::FeatureLevelRecord{.name = kMetadataVersionFeature,
                                            .feature_level = kMetadataVersion});
    }
  }
  // A transaction that its writer did not live to end.
  if (replay_->in_transaction()) records.add(proto::AbortTransactionRecord{});
  auto next = log_->log().next_offset() + static_cast<int64_t>(records.count());
  plan_registration(*replay_, here_, next, records);
  plan_leaders(*replay_, here_.config.node_id, records);
  if (!records.empty()) append(records.batch(here_.shard.io().wall_ms(), log_->leader_epoch()));
  failed_ = refused_;
  if (!in_flight_.empty()) commit();
}

void CatalogWriter::start() {
  started_ = true;
  wake_when_idle();
}

void CatalogWriter::stop() {
  stopped_ = true;
  snapshots_->stop();
  Changes round;  // its commit or its publication may never end
  round.swap(round_);
  end_all(round, ErrorCode::kNotController);
  end_all(waiting_, ErrorCode::kNotController);
  waiting_count_ = 0;
  on_producer_ids(ErrorCode::kCoordinatorNotAvailable, 0);
}

Status CatalogWriter::close() {
  CHECK(stopped_);
  // Closed first: it writes what is queued, and in_flight_ goes when the waiter is told.
  Status closed = log_->log().close();
  log_->retire(ErrorCode::kNotLeaderOrFollower);
  return closed;
}

std::unique_ptr<CatalogChange> CatalogWriter::submit(std::unique_ptr<CatalogChange> change) {
  if (stopped_ || failed_ || waiting_count_ == kMaxWaiting) return change;
  waiting_.push_back(*change.release());
  ++waiting_count_;
  wake_when_idle();
  return nullptr;
}

void CatalogWriter::wake_when_idle() {
  if (started_ && !busy_ && !waiting_.empty() && !turn_.pending()) here_.shard.loop().post(turn_);
}

void CatalogWriter::on_turn(int32_t) {
  if (!busy_ && !waiting_.empty()) plan_round();
}

void CatalogWriter::plan_round() {
  busy_ = true;
  refused_ = false;
  size_t changes = 0, bytes = 0;
  while (!waiting_.empty() && changes < kMaxRoundChanges && bytes < kMaxRoundBytes) {
    CatalogChange& change = waiting_.front();
    if (replay_->topics_removed() > 0 && !change.makes_nothing()) break;
    waiting_.pop_front();
    --waiting_count_;
    round_.push_back(change);
    ++changes;
    if (!take(change)) break;
    if (!in_flight_.empty()) bytes += in_flight_.back().size();
  }
  if (!in_flight_.empty()) return commit();
  if (!refused_) return finish_round(ErrorCode::kNone);
  // The state shows nothing that the log has not.
  failed_ = log_->log().failed();
  finish_round(ErrorCode::kKafkaStorageError);
}

// Plans one change and appends and applies its records. False: the log takes nothing now.
bool CatalogWriter::take(CatalogChange& change) {
  MetadataRecords records;
  change.plan(*replay_, records);
  if (records.empty()) return true;
  if (records.bytes() > kMaxChangeBytes) return refuse(change);
  std::vector<uint8_t> batch = records.batch(here_.shard.io().wall_ms(), log_->leader_epoch());
  if (batch.size() > static_cast<size_t>(log_->config().segment_bytes)) return refuse(change);
  append(std::move(batch));
  return !refused_;
}

bool CatalogWriter::refuse(CatalogChange& change) {
  change.unlink();
  change.done(ErrorCode::kPolicyViolation);
  delete &change;
  return true;
}

// The bytes stay in in_flight_ until they are committed. Replays them too: what comes next in this round
// is planned against it; nobody else sees it before publish().
void CatalogWriter::append(std::vector<uint8_t> batch) {
  in_flight_.push_back(std::move(batch));
  std::vector<uint8_t>& bytes = in_flight_.back();
  auto appended =
      log_->append(bytes, storage::AppendOrigin::kCoordinator, here_.shard.io().wall_ms());
  if (appended.error != ErrorCode::kNone) {
    in_flight_.pop_back();
    refused_ = true;
    return;
  }
  auto applied = replay_->apply_batch(bytes);
  CHECK(applied.has_value(), applied ? "" : applied.error().c_str());
}

void CatalogWriter::commit() {
  busy_ = true;
  commit_.offset = log_->log().next_offset();
  log_->wait_committed(commit_);
}

void CatalogWriter::on_committed(ErrorCode error) {
  size_t bytes = 0;
  for (const auto& batch : in_flight_) bytes += batch.size();
  in_flight_.clear();
  if (error != ErrorCode::kNone || refused_) return give_up_round();
  bool start = round_.empty();  // what the start added is in the snapshot already
  if (!start) publish();
  if (!stopped_) snapshots_->committed(bytes, *replay_, snapshot_);
  if (start) finish_round(ErrorCode::kNone);
}

// The log did not take what the state already shows. A full disk passes: the state begins again from what is
// committed, and the catalog too, since a part of the round may be committed.
void CatalogWriter::give_up_round() {
  bool passes = !stopped_ && !round_.empty() && !log_->log().failed();
  if (passes) {
    auto state = std::make_unique<CatalogReplay>(here_.shard.count(), here_.config);
    auto replayed = replay_metadata_log(here_.shard.io().files(), log_->log(), *state);
    if (replayed) {
      replay_ = std::move(state);
      refused_ = true;
      return publish();
    }
    log_error("the metadata cannot be read again: {}", replayed.error());
  }
  if (!stopped_) log_error("the metadata log takes nothing more; a restart looks at what is on the disk");
  failed_ = true;
  finish_round(ErrorCode::kKafkaStorageError);
}

void CatalogWriter::publish() {
  removed_.note(*snapshot_, *replay_);
  snapshot_ = replay_->snapshot();
  publication_.start(snapshot_);
}

void CatalogWriter::on_published(bool failed) {
  refused_ = refused_ || failed;
  if (removed_.any()) return removed_.forget();
  on_forgotten({});
}

void CatalogWriter::on_forgotten(Status outcome) {
  if (!outcome && !stopped_) log_error("the checkpoints of deleted partitions: {}", to_string(outcome.error()));
  finish_round(!outcome || refused_ ? ErrorCode::kKafkaStorageError : ErrorCode::kNone);
}

void CatalogWriter::finish_round(ErrorCode error) {
  Changes round;
  round.swap(round_);
  busy_ = false;
  end_all(round, error);
  if (failed_) {
    end_all(waiting_, ErrorCode::kKafkaStorageError);
    waiting_count_ = 0;
  }
  wake_when_idle();
}

void CatalogWriter::end_all(Changes& changes, ErrorCode error) {
  while (!changes.empty()) {
    std::unique_ptr<CatalogChange> change(&changes.front());
    changes.pop_front();
    change->done(error);
  }
}

void CatalogWriter::next_producer_id(ProducerIdWaiter& waiter) {
  producer_id_waiters_.push_back(waiter);
  hand_out_producer_ids();
}

void CatalogWriter::hand_out_producer_ids() {
  while (!producer_id_waiters_.empty() && next_producer_id_ < producer_id_block_end_) {
    ProducerIdWaiter& waiter = producer_id_waiters_.front();
    producer_id_waiters_.pop_front();
    waiter.ready(waiter.owner, ErrorCode::kNone, next_producer_id_++);
  }
  bool low = producer_id_block_end_ - next_producer_id_ < kProducerIdReserve;
  if (!low || block_requested_) return;
  block_requested_ = true;
  if (submit(std::make_unique<ProducerIdBlock>(*this)) != nullptr) {
    on_producer_ids(ErrorCode::kCoordinatorLoadInProgress, 0);
  }
}

void CatalogWriter::on_producer_ids(ErrorCode error, int64_t first) {
  block_requested_ = false;
  if (error == ErrorCode::kNone) {
    next_producer_id_ = first;
    producer_id_block_end_ = first + kProducerIdBlock;
    return hand_out_producer_ids();
  }
  auto waiters = std::move(producer_id_waiters_);
  while (!waiters.empty()) {
    ProducerIdWaiter& waiter = waiters.front();
    waiters.pop_front();
    waiter.ready(waiter.owner, error, -1);
  }
}

}  // namespace pelton::broker
