#include "broker/background.h"

#include "broker/catalog/writer.h"
#include "broker/checkpoints.h"
#include "broker/partition_set.h"
#include "reactor/base/log.h"
#include "storage/log_start_checkpoint.h"

namespace pelton::broker {
namespace {

// Logs without anything to delete that are looked at in one turn.
constexpr size_t kRetainedInATurn = 64;

uint64_t ns(int64_t ms) { return static_cast<uint64_t>(ms) * 1'000'000; }

}  // namespace

Background::Background(BrokerShard& here, std::vector<Background*>& all)
    : here_(here),
      all_(all),
      retention_(Timer::bind<&Background::on_retention>(this)),
      retain_some_(Message::bind<&Background::retain_some>(this)),
      checkpoint_(Timer::bind<&Background::on_checkpoint>(this)),
      collect_(Message::bind<&Background::collect>(this)),
      collected_(Message::bind<&Background::collected>(this)) {}

void Background::start() {
  start_retention_timer();
  Loop& loop = here_.shard.loop();
  if (here_.shard.id() == kCatalogShard)
    loop.timers().start(checkpoint_,
                        loop.now_ns() + ns(here_.config.flush_offset_checkpoint_interval_ms));
}

void Background::start_retention_timer() {
  Loop& loop = here_.shard.loop();
  loop.timers().start(retention_,
                      loop.now_ns() + ns(here_.config.log_retention_check_interval_ms));
}

void Background::on_retention() {
  here_.partitions->for_each([&](Partition& partition) {
    to_retain_.emplace_back(partition.topic_id(), partition.id().partition);
  });
  here_.shard.send(here_.shard.id(), retain_some_);
}

void Background::retain_some(Shard&) {
  if (here_.stopping) return;
  int64_t now_ms = here_.shard.loop().wall_ms();
  for (size_t i = 0; i < kRetainedInATurn && !to_retain_.empty(); ++i) {
    auto [topic_id, index] = to_retain_.back();
    Partition* partition = here_.partitions->find(topic_id, index);
    // One that had segments to delete may have more, and is looked at again.
    if (partition != nullptr && partition->apply_retention(now_ms) > 0) break;
    to_retain_.pop_back();
  }
  if (to_retain_.empty()) return start_retention_timer();
  here_.shard.send(here_.shard.id(), retain_some_);
}

void Background::on_checkpoint() {
  if (here_.stopping) return;
  pending_ = all_.size();
  for (Background* each : all_) here_.shard.send(each->here_.shard.id(), each->collect_);
}

void Background::collect(Shard& shard) {
  lines_ = checkpoints_of(*here_.partitions);
  shard.send(kCatalogShard, collected_);
}

void Background::collected(Shard&) {
  Background& leader = *all_[kCatalogShard];
  if (--leader.pending_ == 0) leader.write();
}

void Background::write() {
  // A stop writes them itself, last; a round that comes later must not put older lines over them.
  if (here_.stopping) return;
  std::vector<storage::PartitionCheckpoint> lines{checkpoint_of(here_.catalog_writer->metadata_log())};
  // A topic may have been deleted, and made again, since its shard told its line: the old recovery point
  // would make the new partition look damaged after a crash.
  std::shared_ptr<const CatalogSnapshot> catalog = here_.catalog_writer->snapshot();
  for (Background* each : all_) {
    for (const storage::PartitionCheckpoint& line : each->lines_) {
      const TopicInfo* topic = catalog->find(line.id.topic);
      if (topic != nullptr && topic->id == line.topic_id) lines.push_back(line);
    }
    each->lines_ = {};
  }
  if (Status written = here_.log_dir.write_checkpoints(lines); !written)
    log_error("Writing the checkpoints failed: {}", to_string(written.error()));
  here_.log_starts->write();
  Loop& loop = here_.shard.loop();
  loop.timers().start(checkpoint_,
                      loop.now_ns() + ns(here_.config.flush_offset_checkpoint_interval_ms));
}

}  // namespace pelton::broker
