#include "broker/broker_shard.h"

#include <algorithm>

#include "broker/descriptors.h"
#include "broker/fetch/fetch_session.h"
#include "broker/group/group_shard.h"
#include "broker/net/connection_limits.h"
#include "broker/net/connection_set.h"
#include "broker/partition_set.h"
#include "broker/produce/produce_shard.h"

namespace pelton::broker {
namespace {

constexpr size_t kMaxSessionPartitions = 200'000;

}  // namespace

BrokerShard::BrokerShard(Shard& its_shard, const BrokerConfig& its_config,
                         storage::LogDir& its_log_dir,
                         const std::vector<std::unique_ptr<BrokerShard>>& peers)
    : shard(its_shard),
      config(config_),
      log_dir(its_log_dir),
      storage(its_shard, segment_descriptors(its_shard.count())),
      notices(its_shard.loop()),
      config_(its_config),
      peers_(peers) {
  partitions = std::make_unique<PartitionSet>(*this);
  FetchSessions::Bounds all{static_cast<size_t>(config.max_fetch_sessions), kMaxSessionPartitions};
  FetchSessions::Bounds share{all.sessions / its_shard.count(), all.partitions / its_shard.count()};
  if (all.sessions > 0) share.sessions = std::max<size_t>(share.sessions, 1);
  sessions = std::make_unique<FetchSessions>(share, all);
  produce = std::make_unique<ProduceShard>();
  connections = std::make_unique<ConnectionSet>(*this);
  groups = std::make_unique<group::GroupShard>(*this);
  shard.set_context(this);
}

BrokerShard::~BrokerShard() = default;

void BrokerShard::use_catalog(std::shared_ptr<const CatalogSnapshot> newest) {
  bool same = catalog != nullptr && catalog->broker_config() == newest->broker_config();
  if (!same) config_ = *newest->broker_config();
  catalog = std::move(newest);
  if (!same && connection_limits != nullptr) connection_limits->use_config();
}

}  // namespace pelton::broker
