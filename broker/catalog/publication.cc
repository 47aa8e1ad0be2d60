#include "broker/catalog/publication.h"

#include <utility>

#include "broker/group/group_shard.h"
#include "broker/partition_set.h"

namespace pelton::broker {

Publication::Publication(BrokerShard& here, void* owner, Done done)
    : here_(here), owner_(owner), done_(done) {
  for (ShardId shard = 0; shard < here.shard.count(); ++shard)
    parts_.push_back(std::make_unique<Part>(*this, shard));
}

void Publication::start(std::shared_ptr<const CatalogSnapshot> snapshot) {
  failed_ = false;
  for (auto& part : parts_) part->snapshot = snapshot;
  send_all(&Part::open);
}

void Publication::send_all(Message Part::*message) {
  missing_ = parts_.size();
  for (auto& part : parts_) here_.shard.send(part->shard, (*part).*message);
}

void Publication::Part::on_open(Shard& there) {
  broker = &there.context<BrokerShard>();
  broker->partitions->open(snapshot, this, [](void* self, Result<void, std::string> outcome) {
    auto& part = *static_cast<Part*>(self);
    part.failed = !outcome;
    if (part.failed) part.broker->notices.cannot_open.tell("shard {}: {}", part.shard, outcome.error());
    part.broker->shard.send(kCatalogShard, part.opened);
  });
}

void Publication::Part::on_opened(Shard&) {
  all.failed_ = all.failed_ || failed;
  if (--all.missing_ == 0) all.send_all(&Part::show);
}

void Publication::Part::on_show(Shard& there) {
  broker->use_catalog(std::move(snapshot));
  broker->partitions->take_over(broker->catalog);
  broker->groups->on_catalog_applied(*broker);
  there.send(kCatalogShard, shown);
}

void Publication::Part::on_shown(Shard&) {
  if (--all.missing_ == 0) all.done_(all.owner_, all.failed_);
}

}  // namespace pelton::broker
