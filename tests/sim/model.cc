#include "tests/sim/model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pelton::sim {

std::string to_string(const RecordId& id) {
  return fmt::format("record {} of producer {} for partition {}", id.number, id.producer, id.partition);
}

Model::Model(World& world, std::vector<TopicSpec> topics, Violation violation)
    : world_(world), topics_(std::move(topics)), violation_(std::move(violation)) {
  for (const TopicSpec& topic : topics_) {
    auto& partitions = partitions_.emplace_back();
    for (int32_t index = 0; index < topic.partitions; ++index) partitions[index];
  }
}

std::string Model::name(size_t topic, int32_t partition) const {
  return topics_[topic].name + "-" + std::to_string(partition);
}

Model::Moment Model::moment(size_t topic, int32_t partition) const {
  return {power_losses_, partitions_[topic].at(partition).high_watermark};
}

// The answer speaks of a log that a power loss may have cut since.
bool Model::stale(size_t topic, const Moment& sent) const {
  return !topics_[topic].synced && sent.power_losses != power_losses_;
}

// ---------------------------------------------------------------- records

void Model::place(size_t topic, int32_t partition, int64_t offset, const RecordId& id, bool strong,
                  const char* how) {
  Partition& log = part(topic, partition);
  auto [at, is_new] = log.at.try_emplace(offset, Place{id, strong});
  if (!is_new && at->second.id != id)
    return breach(fmt::format("{} offset {}: {} {}, where {} was before", name(topic, partition),
                                  offset, how, to_string(id), to_string(at->second.id)));
  at->second.strong |= strong;
  auto [where, first] = log.where.try_emplace(id, offset);
  if (!first && where->second != offset)
    breach(fmt::format("{} offset {}: {} {}, which is at offset {} too", name(topic, partition),
                           offset, how, to_string(id), where->second));
}

void Model::acked(size_t topic, int32_t partition, int64_t offset, const RecordId& id, int acks,
                  const Moment& sent) {
  bool since_power_loss = sent.power_losses == power_losses_;
  bool strong = topics_[topic].synced && acks == -1;
  ++records_acked_;
  world_.trace("acknowledged", static_cast<uint64_t>(partition), static_cast<uint64_t>(offset), id.number);
  if (strong || since_power_loss) place(topic, partition, offset, id, strong, "acknowledged");
}

void Model::saw(size_t topic, int32_t partition, int64_t offset, const RecordId& id,
                const Moment& sent) {
  if (stale(topic, sent)) return;
  ++records_seen_;
  place(topic, partition, offset, id, topics_[topic].synced, "a consumer saw");
}

void Model::saw_high_watermark(size_t topic, int32_t partition, int64_t offset, const Moment& sent) {
  if (stale(topic, sent)) return;
  if (offset < sent.high_watermark)
    breach(fmt::format("{}: the high watermark went back from {} to {}", name(topic, partition),
                           sent.high_watermark, offset));
  Partition& log = part(topic, partition);
  log.high_watermark = std::max(log.high_watermark, offset);
}

void Model::out_of_range(size_t topic, int32_t partition, int64_t offset, const Moment& sent) {
  if (stale(topic, sent) || offset > sent.high_watermark) return;
  breach(fmt::format("{}: offset {} is out of range, with a high watermark of {}",
                         name(topic, partition), offset, sent.high_watermark));
}

// A log keeps a prefix: below what is sure everything is sure.
void Model::lose(Partition& partition, bool synced) {
  int64_t sure = synced ? partition.high_watermark : 0;
  if (synced)
    for (const auto& [offset, place] : partition.at)
      if (place.strong) sure = std::max(sure, offset + 1);
  partition.high_watermark = sure;
  for (auto at = partition.at.lower_bound(sure); at != partition.at.end();) {
    partition.where.erase(at->second.id);
    at = partition.at.erase(at);
  }
}

void Model::crashed(CrashKind kind) {
  groups_.crashed();
  if (kind != CrashKind::kPowerLoss) return;
  ++power_losses_;
  for (size_t topic = 0; topic < topics_.size(); ++topic)
    for (auto& [index, partition] : partitions_[topic]) lose(partition, topics_[topic].synced);
}

// ---------------------------------------------------------------- the end

void Model::compare(size_t topic, int32_t partition, const std::vector<RecordId>& log,
                    int64_t high_watermark) {
  const Partition& expected = part(topic, partition);
  std::string its_name = name(topic, partition);
  if (high_watermark < expected.high_watermark)
    breach(fmt::format("{}: ends at {}, and {} was shown", its_name, high_watermark,
                           expected.high_watermark));
  for (const auto& [offset, place] : expected.at) {
    if (offset >= static_cast<int64_t>(log.size()))
      return breach(fmt::format("{}: {} at offset {} is lost, the log ends at {}", its_name,
                                    to_string(place.id), offset, log.size()));
    if (log[static_cast<size_t>(offset)] != place.id)
      return breach(fmt::format("{} offset {}: {} in place of {}", its_name, offset,
                                    to_string(log[static_cast<size_t>(offset)]), to_string(place.id)));
  }
  compare_order(its_name, log);
}

void Model::compare_order(const std::string& partition_name, const std::vector<RecordId>& log) {
  std::map<RecordId, size_t> seen;
  std::map<uint32_t, uint64_t> last;
  for (size_t offset = 0; offset < log.size(); ++offset) {
    const RecordId& id = log[offset];
    auto [before, is_new] = seen.try_emplace(id, offset);
    if (!is_new)
      return breach(fmt::format("{}: {} is at offsets {} and {}", partition_name, to_string(id),
                                    before->second, offset));
    auto [previous, first] = last.try_emplace(id.producer, id.number);
    if (!first && id.number < previous->second)
      return breach(fmt::format("{} offset {}: {} behind number {}", partition_name, offset,
                                    to_string(id), previous->second));
    previous->second = id.number;
  }
}

// ---------------------------------------------------------------- committed offsets

void Model::commit_tried(const std::string& name, int64_t offset) {
  committed_[name].tried = std::max(committed_[name].tried, offset);
}

void Model::commit_acked(const std::string& name, int64_t offset) {
  ++commits_acked_;
  world_.trace("committed", static_cast<uint64_t>(offset));
  committed_[name].acked = std::max(committed_[name].acked, offset);
}

int64_t Model::committed(const std::string& name) const {
  auto found = committed_.find(name);
  return found == committed_.end() ? -1 : found->second.acked;
}

std::vector<std::string> Model::commit_names() const {
  std::vector<std::string> names;
  for (const auto& [name, committed] : committed_) names.push_back(name);
  return names;
}

void Model::saw_committed(const std::string& name, int64_t offset, int64_t at_least) {
  const Committed& known = committed_[name];
  if (offset < at_least)
    breach(fmt::format("group {}: committed offset {} was acknowledged, {} is answered", name,
                           at_least, offset));
  if (offset > known.tried)
    breach(fmt::format("group {}: committed offset {} is answered, nobody committed more than {}",
                           name, offset, known.tried));
  // What was answered once may not be taken back either.
  committed_[name].acked = std::max(committed_[name].acked, offset);
}

}  // namespace pelton::sim
