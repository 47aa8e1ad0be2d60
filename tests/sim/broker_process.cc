#include "tests/sim/broker_process.h"

#include <algorithm>

#include "broker/config/load_config.h"
#include "reactor/base/check.h"

namespace pelton::sim {
namespace {

constexpr uint64_t kShortestTurn = 500;         // ns
constexpr uint64_t kLongestTurn = 8 * kMicro;
constexpr double kStall = 0.0005;               // chance that a shard loses its core after a turn
constexpr uint64_t kLongestStall = 30 * kMilli;

}  // namespace

broker::BrokerConfig sim_config(World& world, int shards) {
  broker::ConfigSources sources;
  sources.file_name = "simulation";
  sources.overrides = {
      "node.id=1",
      "listeners=PLAINTEXT://127.0.0.1:" + std::to_string(BrokerProcess::kPort),
      "log.dirs=/data",
      "pelton.shards=" + std::to_string(shards),
      "offsets.topic.num.partitions=3",
      "group.initial.rebalance.delay.ms=100",
      "group.min.session.timeout.ms=500",
      "log.flush.offset.checkpoint.interval.ms=7000",
      "log.retention.check.interval.ms=11000",
  };
  std::vector<std::string> notices;
  auto config = broker::load_config(sources, notices);
  CHECK(config.has_value(), "the simulation's configuration is valid");
  // Below what the configuration keys allow, so that segments roll all the time.
  config->log_defaults.segment_bytes = static_cast<int32_t>(uint64_t{1} << world.between(16, 19));
  config->log_defaults.index_interval_bytes = static_cast<int32_t>(world.between(256, 4096));
  config->offsets_topic_segment_bytes = static_cast<int32_t>(uint64_t{1} << world.between(13, 18));
  config->metadata_small_segment_bytes = static_cast<int32_t>(uint64_t{1} << world.between(12, 15));
  config->metadata_snapshot_bytes = static_cast<int64_t>(world.between(500, 10'000));
  config->metadata_retention_bytes = static_cast<int64_t>(world.between(2'000, 30'000));
  config->metadata_delete_delay_ms = 0;
  return *config;
}

BrokerProcess::BrokerProcess(World& world, SimDisk& disk, SimNetwork& network,
                             broker::BrokerConfig config, const SimIo::Shape& shape)
    : world_(world), disk_(disk), network_(network), config_(std::move(config)), shape_(shape) {}

// ---------------------------------------------------------------- start and end

Result<void, std::string> BrokerProcess::start() {
  CHECK(!running());
  world_.trace("start", ++starts_);
  auto process = std::make_unique<Process>();
  std::vector<Io*> ios;
  for (int shard = 0; shard < config_.shards; ++shard) {
    process->ios.push_back(std::make_unique<SimIo>(world_, disk_, network_, shape_));
    process->ios.back()->wait_in_poll(true);
    ios.push_back(process->ios.back().get());
  }
  auto server = broker::Server::open(config_, ios, {.load_in_threads = false, .shuffle = true});
  for (auto& io : process->ios) io->wait_in_poll(false);
  if (!server) {
    // What it began on the disk may still be under way.
    for (auto& io : process->ios) io->die();
    network_.crash(CrashKind::kProcessKill);
    dead_.push_back(std::move(process));
    return std::unexpected(server.error());
  }
  process->server = std::move(*server);
  process->shards = process->server->shards();
  process->awake.assign(process->shards.size(), true);
  process->stalled_until.assign(process->shards.size(), 0);
  alive_ = std::move(process);
  return alive_->server->listen();
}

void BrokerProcess::crash(CrashKind kind) {
  CHECK(running());
  hopped_ += hopped_now();
  for (auto& io : alive_->ios) io->die();
  network_.crash(kind);
  disk_.crash(kind);
  dead_.push_back(std::move(alive_));
}

void BrokerProcess::request_stop() {
  CHECK(running());
  world_.trace("orderly stop");
  alive_->server->request_stop();
  wake_all();
}

void BrokerProcess::end_if_stopped() {
  for (Shard* shard : alive_->shards)
    if (!shard->loop().stopped()) return;
  hopped_ += hopped_now();
  stopped_clean_ = alive_->server->stopped_clean();
  alive_->shards.clear();
  for (auto& io : alive_->ios) io->wait_in_poll(true);
  alive_->server.reset();
  network_.crash(CrashKind::kProcessKill);
  disk_.crash(CrashKind::kProcessKill);
  alive_.reset();
}

uint64_t BrokerProcess::hopped_now() const {
  uint64_t sum = 0;
  for (size_t id = 0; id < alive_->shards.size(); ++id)
    sum += alive_->server->shard(static_cast<ShardId>(id)).counters.requests_hopped;
  return sum;
}

// ---------------------------------------------------------------- turns

void BrokerProcess::wake_all() {
  if (alive_) std::fill(alive_->awake.begin(), alive_->awake.end(), true);
}

bool BrokerProcess::may_turn(size_t shard) const {
  if (alive_->shards[shard]->loop().stopped()) return false;
  if (alive_->stalled_until[shard] > world_.now_ns()) return false;
  return alive_->awake[shard] || alive_->ios[shard]->wants() <= world_.now_ns();
}

bool BrokerProcess::turn_one() {
  if (!alive_) return false;
  std::vector<size_t> ready;
  for (size_t shard = 0; shard < alive_->shards.size(); ++shard)
    if (may_turn(shard)) ready.push_back(shard);
  if (ready.empty()) return false;
  turn(ready[world_.below(ready.size())]);
  end_if_stopped();
  return true;
}

void BrokerProcess::turn(size_t shard) {
  world_.spend(world_.between(kShortestTurn, kLongestTurn));
  bool ran = alive_->shards[shard]->loop().run_turn(true);
  if (ran) {
    // It may have sent mail to any of them.
    world_.trace("turn", shard);
    wake_all();
  } else {
    alive_->awake[shard] = alive_->ios[shard]->wants() == 0;
  }
  if (world_.chance(kStall))
    alive_->stalled_until[shard] = world_.now_ns() + world_.below(kLongestStall);
}

uint64_t BrokerProcess::next_wake_ns() const {
  uint64_t next = UINT64_MAX;
  if (!alive_) return next;
  for (size_t shard = 0; shard < alive_->shards.size(); ++shard) {
    if (alive_->shards[shard]->loop().stopped()) continue;
    uint64_t wants = alive_->awake[shard] ? 0 : alive_->ios[shard]->wants();
    next = std::min(next, std::max(wants, alive_->stalled_until[shard]));
  }
  return next;
}

}  // namespace pelton::sim
