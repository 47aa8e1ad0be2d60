#include "broker/server_stop.h"

#include "broker/catalog/writer.h"
#include "broker/checkpoints.h"
#include "broker/group/group_shard.h"
#include "broker/metrics/http_listener.h"
#include "broker/net/connection_limits.h"
#include "broker/net/connection_set.h"
#include "broker/partition_set.h"
#include "broker/server.h"
#include "reactor/helper_threads.h"
#include "reactor/base/log.h"
#include "storage/log_start_checkpoint.h"

namespace pelton::broker {
namespace {

constexpr uint64_t kPollNs = 2'000'000;

}  // namespace

ServerStop::OneShard::OneShard(ServerStop& stop, BrokerShard& its_shard)
    : all(stop),
      here(its_shard),
      drain_timer(Timer::bind<&OneShard::poll_drained>(this)),
      to_shard(Message::bind<&OneShard::enter>(this)),
      to_catalog(Message::bind<&OneShard::back>(this)) {}

ServerStop::ServerStop(Server& server)
    : server_(server), requested_(Message::bind<&ServerStop::begin>(this)) {}

ServerStop::~ServerStop() = default;

void ServerStop::request() {
  if (asked_.exchange(true)) return;
  server_.shards_[kCatalogShard]->send_from_outside(requested_);
}

void ServerStop::begin(Shard&) {
  log_info("Stopping");
  for (auto& here : server_.broker_shards_)
    shards_.push_back(std::make_unique<OneShard>(*this, *here));
  enter_all(Phase::kDrain);
}

void ServerStop::enter_all(Phase phase) {
  phase_ = phase;
  pending_ = shards_.size();
  for (auto& one : shards_) {
    one->phase = phase;
    server_.shards_[kCatalogShard]->send(one->here.shard.id(), one->to_shard);
  }
}

void ServerStop::OneShard::enter(Shard& shard) {
  switch (phase) {
    case Phase::kDrain:
      here.stopping = true;
      if (here.shard.id() == kCatalogShard && all.server_.metrics_) all.server_.metrics_->stop();
      if (here.connection_limits != nullptr) here.connection_limits->stop();
      here.helpers->stop();
      here.connections->stop_accepting();
      here.groups->stop();
      here.partitions->for_each([](Partition& partition) { partition.end_waits(); });
      here.connections->drain();
      drain_until_ns = shard.loop().now_ns() + kDrainNs;
      return poll_drained();
    case Phase::kClose:
      return close();
    case Phase::kLeave:
      return shard.loop().stop();
    case Phase::kNone:
      return;
  }
}

void ServerStop::OneShard::poll_drained() {
  Loop& loop = here.shard.loop();
  bool metrics_busy =
      here.shard.id() == kCatalogShard && all.server_.metrics_ && !all.server_.metrics_->idle();
  if ((here.connections->open_connections() > 0 || metrics_busy) && loop.now_ns() < drain_until_ns)
    return loop.timers().start(drain_timer, loop.now_ns() + kPollNs);
  here.shard.send(kCatalogShard, to_catalog);
}

void ServerStop::OneShard::close() {
  for (const std::string& failure : here.partitions->close_all()) {
    log_error("Closing a log failed: {}", failure);
    failed = true;
  }
  checkpoints = checkpoints_of(*here.partitions);
  here.connections->close_all();
  here.shard.send(kCatalogShard, to_catalog);
}

void ServerStop::OneShard::back(Shard&) { all.one_done(); }

void ServerStop::one_done() {
  if (--pending_ > 0) return;
  if (phase_ == Phase::kDrain) return enter_all(Phase::kClose);
  if (phase_ == Phase::kClose) return finish();
}

void ServerStop::finish() {
  CatalogWriter& writer = *server_.catalog_writer_;
  writer.stop();
  server_.log_starts_->stop({ECANCELED});
  bool failed = false;
  std::vector<storage::PartitionCheckpoint> all{checkpoint_of(writer.metadata_log())};
  for (auto& one : shards_) {
    failed = failed || one->failed;
    all.insert(all.end(), one->checkpoints.begin(), one->checkpoints.end());
  }
  if (Status closed = writer.close(); !closed) {
    log_error("Closing the metadata log failed: {}", to_string(closed.error()));
    failed = true;
  }
  Status written = failed ? Status{} : server_.log_dir_->write_checkpoints(all);
  if (written && !failed) written = server_.log_dir_->mark_clean_shutdown();
  if (!written) log_error("Writing the checkpoints failed: {}", to_string(written.error()));
  clean_.store(written.has_value() && !failed, std::memory_order_release);
  enter_all(Phase::kLeave);
}

}  // namespace pelton::broker
