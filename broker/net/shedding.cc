#include "broker/net/shedding.h"

#include <algorithm>
#include <utility>

#include "broker/net/connection_set.h"

namespace pelton::broker {

Shedding::Visit::Visit(Shedding& shedding, ShardId its_shard)
    : all(shedding),
      shard(its_shard),
      go(Message::bind<&Visit::arrived>(this)),
      come(Message::bind<&Visit::back>(this)) {}

Shedding::Shedding(BrokerShard& here, size_t shards, void* owner, Done done)
    : here_(here), owner_(owner), done_(done) {
  for (size_t shard = 0; shard < shards; ++shard)
    visits_.push_back(std::make_unique<Visit>(*this, static_cast<ShardId>(shard)));
}

void Shedding::start(size_t count, bool controllers, std::string protected_listener) {
  CHECK(!running(), "one round at a time");
  count_ = std::min(count, kMostAtOnce);
  controllers_ = controllers;
  protected_listener_ = std::move(protected_listener);
  send(false);
}

void Shedding::send(bool closes) {
  closing_ = closes;
  away_ = visits_.size();
  for (auto& visit : visits_) {
    visit->closes = closes;
    here_.shard.send(visit->shard, visit->go);
  }
}

void Shedding::Visit::arrived(Shard& there) {
  ConnectionSet& connections = *there.context<BrokerShard>().connections;
  if (closes) {
    count = connections.close_least_used(count, all.controllers_, all.protected_listener_);
  } else {
    oldest = connections.least_used(all.count_, all.controllers_, all.protected_listener_);
  }
  there.send(all.here_.shard.id(), come);
}

void Shedding::Visit::back(Shard&) { all.one_is_back(); }

void Shedding::one_is_back() {
  if (--away_ > 0) return;
  if (!closing_) return pick();
  size_t closed = 0;
  for (const auto& visit : visits_) closed += visit->count;
  done_(owner_, closed);
}

void Shedding::pick() {
  std::vector<std::pair<uint64_t, Visit*>> candidates;
  for (auto& visit : visits_) {
    visit->count = 0;
    for (uint64_t used_ns : visit->oldest) candidates.emplace_back(used_ns, visit.get());
    visit->oldest = {};
  }
  std::ranges::sort(candidates, {}, [](const auto& each) { return each.first; });
  candidates.resize(std::min(candidates.size(), count_));
  for (auto& [used_ns, visit] : candidates) ++visit->count;
  send(true);
}

}  // namespace pelton::broker
