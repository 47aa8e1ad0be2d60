#include "tests/sim/simulation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reactor/base/check.h"
#include "tests/sim/client/admin.h"
#include "tests/sim/client/committer.h"
#include "tests/sim/client/consumer.h"
#include "tests/sim/client/member.h"
#include "tests/sim/client/plain_producer.h"
#include "tests/sim/client/producer.h"
#include "tests/sim/client/recreator.h"
#include "tests/sim/client/verifier.h"

namespace pelton::sim {
namespace {

constexpr size_t kSynced = 0;
constexpr size_t kPageCache = 1;

std::vector<TopicSpec> topics_of_run() {
  return {{.name = "synced", .partitions = 4, .synced = true},
          {.name = "page-cache", .partitions = 2, .synced = false}};
}

// Few and small buffers, or the usual ones.
SimIo::Shape drawn_shape(World& world) {
  SimIo::Shape shape;
  shape.leases = static_cast<uint32_t>(world.between(2, 32));
  shape.lease_bytes = uint32_t{1} << world.between(8, 14);
  shape.cached = world.chance(0.3) ? 1.0 : 0.6;
  shape.sync_high_ns = world.between(2 * kMilli, 150 * kMilli);
  return shape;
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : options_(options),
      world_(options.seed, options.trace),
      disk_(world_),
      network_(world_),
      model_(world_, topics_of_run(), [this](const std::string& what) { violate(what); }),
      context_{world_, network_, model_, BrokerProcess::kPort},
      shape_(drawn_shape(world_)),
      broker_(world_, disk_, network_, sim_config(world_, options.shards), shape_) {
  if (world_.chance(0.3)) {
    disk_.faults.sync_error = 0.005;
    context_.disk_fails = true;
    model_.groups().writes_may_fail();
  }
  if (world_.chance(0.3)) {
    disk_.faults.sync_stall = 0.01;
    context_.disk_stalls = true;
  }
  add_clients();
}

void Simulation::violate(const std::string& what) {
  if (failed()) return;
  violation_ = fmt::format("at {:.6f} s: {}", static_cast<double>(world_.now_ns()) / 1e9, what);
  world_.trace("violation");
}

template <class Kind, class... Args>
void Simulation::add(Args&&... args) {
  clients_.push_back(std::make_unique<Kind>(context_, std::forward<Args>(args)...));
}

void Simulation::add_clients() {
  add<Admin>();
  add<Producer>("producer-a", kSynced);
  add<Producer>("producer-b", kSynced);
  add<Producer>("producer-c", kPageCache);
  add<PlainProducer>("plain-all", kSynced, int16_t{-1});
  add<PlainProducer>("plain-one", kSynced, int16_t{1});
  add<PlainProducer>("plain-none", kSynced, int16_t{0});
  add<PlainProducer>("plain-one-cached", kPageCache, int16_t{1});
  add<Consumer>("consumer-a", kSynced);
  add<Consumer>("consumer-b", kSynced);
  add<Consumer>("consumer-c", kPageCache);
  add<Committer>("group-a", kSynced);
  add<Committer>("group-b", kSynced);
  for (const char* name : {"member-a", "member-b", "member-c"}) add<Member>(name, "members", false);
  for (const char* name : {"fixed-a", "fixed-b"}) add<Member>(name, "members", true);
  for (const char* name : {"pair-a", "pair-b"}) add<Member>(name, "pair", false);
  add<Recreator>("again-a");
  add<Recreator>("again-b");
}

// ---------------------------------------------------------------- the machine

void Simulation::step() {
  if (world_.fire_due()) broker_.wake_all();
  if (broker_.turn_one()) return;
  world_.advance_to(std::min(world_.next_event_ns(), broker_.next_wake_ns()));
}

template <class Done>
bool Simulation::run_until(uint64_t timeout_ns, Done done) {
  uint64_t end = world_.now_ns() + timeout_ns;
  // Looked at now and then: `done` may ask every client.
  for (uint64_t steps = 0; !failed() && world_.now_ns() < end; ++steps) {
    if (steps % 64 == 0 && done()) return true;
    step();
  }
  return done();
}

void Simulation::start_broker() {
  if (auto started = broker_.start(); !started) violate("the broker does not start: " + started.error());
}

bool Simulation::start_broker_in_danger() {
  if (world_.chance(0.25)) disk_.lose_power_after(world_.latency(1, 300));
  auto started = broker_.start();
  if (!disk_.lost_power()) {
    disk_.lose_power_after(std::nullopt);
    if (!started) violate("the broker does not start: " + started.error());
    return !failed();
  }
  ++counts_.power_losses_at_start;
  if (broker_.running())
    broker_.crash(CrashKind::kPowerLoss);
  else
    disk_.crash(CrashKind::kPowerLoss);
  model_.crashed(CrashKind::kPowerLoss);
  return false;
}

void Simulation::crash_broker() {
  bool power = world_.chance(0.5);
  counts_.failed_syncs += disk_.failed_syncs();
  ++(power ? counts_.power_losses : counts_.kills);
  CrashKind kind = power ? CrashKind::kPowerLoss : CrashKind::kProcessKill;
  broker_.crash(kind);
  model_.crashed(kind);
}

// ---------------------------------------------------------------- phases

bool Simulation::run() {
  start_broker();
  for (auto& client : clients_) client->start();
  disturb_until(world_.now_ns() + world_.between(45, 90) * kSecond);
  if (!failed()) settle();
  if (!failed()) end_broker();
  if (!failed()) verify();
  return !failed();
}

void Simulation::disturb_until(uint64_t end_ns) {
  uint64_t next_crash = world_.now_ns() + world_.between(3, 8) * kSecond;
  uint64_t next_break = world_.now_ns() + world_.between(1, 3) * kSecond;
  uint64_t next_start = 0;
  while (!failed() && world_.now_ns() < end_ns) {
    step();
    if (failed()) return;
    disk_.faults.sync_lies = options_.sync_lies && !context_.topic_ids.empty();
    if (broker_.running() && world_.now_ns() >= next_crash) {
      crash_broker();
      next_start = world_.now_ns() + world_.between(10 * kMilli, 3 * kSecond);
    }
    if (!broker_.running() && world_.now_ns() >= next_start) {
      if (!start_broker_in_danger()) {
        next_start = world_.now_ns() + world_.between(10 * kMilli, kSecond);
        continue;
      }
      // Now and then it dies before it has done much.
      next_crash = world_.now_ns() + (world_.chance(0.3) ? world_.between(5 * kMilli, kSecond)
                                                         : world_.between(2, 10) * kSecond);
    }
    if (world_.now_ns() >= next_break) {
      ++counts_.broken_connections;
      network_.break_one();
      next_break = world_.now_ns() + world_.between(200 * kMilli, 5 * kSecond);
    }
  }
}

// Nothing goes wrong any more: what was begun ends.
void Simulation::settle() {
  context_.producing = false;
  disk_.faults.sync_error = disk_.faults.sync_stall = 0.0;
  if (broker_.running() && disk_.failed_syncs() > 0) crash_broker();
  if (!broker_.running()) start_broker();
  auto settled = [this] {
    return std::all_of(clients_.begin(), clients_.end(), [](auto& each) { return each->settled(); });
  };
  if (!run_until(120 * kSecond, settled) && !failed())
    for (auto& client : clients_)
      if (!client->settled()) violate(client->name() + " gets no answer from a broker in good health");
  for (auto& client : clients_) client->stop();
}

void Simulation::end_broker() {
  switch (world_.below(3)) {
    case 0:
      return;
    case 1:
      crash_broker();
      return start_broker();
    default:
      break;
  }
  ++counts_.clean_stops;
  broker_.request_stop();
  if (!run_until(10 * kSecond, [this] { return !broker_.running(); })) {
    if (!failed()) violate("the orderly stop does not end");
    return;
  }
  if (!broker_.stopped_clean()) return violate("the orderly stop was not clean");
  start_broker();
}

void Simulation::verify() {
  add<Verifier>();
  Client& verifier = *clients_.back();
  verifier.start();
  if (!run_until(300 * kSecond, [&] { return verifier.settled(); }) && !failed())
    violate("the verifier does not come to an end");
  verifier.stop();
}

std::string Simulation::summary() const {
  return fmt::format(
      "{:.0f} s, {} kills, {} power losses, {} more at a start, {} failed syncs, {} clean stops, {} resets; {} records acknowledged, {} seen, "
      "{} commits, {} assignments, {} refused, {} hops, {} events, trace {:016x}",
      static_cast<double>(world_.now_ns()) / 1e9, counts_.kills, counts_.power_losses,
      counts_.power_losses_at_start, counts_.failed_syncs, counts_.clean_stops, counts_.broken_connections, model_.records_acked(), model_.records_seen(),
      model_.commits_acked(), model_.assignments(), model_.refusals(), broker_.requests_hopped(), world_.trace_length(), world_.trace_hash());
}

}  // namespace pelton::sim
