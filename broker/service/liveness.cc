#include "broker/service/liveness.h"

namespace pelton::broker {

Liveness::Liveness(const std::vector<Shard*>& shards) {
  for (Shard* shard : shards) probes_.push_back(std::make_unique<Probe>(*shard));
}

void Liveness::begin_round() {
  for (auto& probe : probes_) {
    if (!probe->away.exchange(true, std::memory_order_acq_rel))
      probe->shard.send_from_outside(probe->message);
  }
}

std::optional<ShardId> Liveness::silent() const {
  for (const auto& probe : probes_)
    if (probe->away.load(std::memory_order_acquire)) return probe->shard.id();
  return std::nullopt;
}

}  // namespace pelton::broker
