#include "storage/leader_epochs.h"

#include <algorithm>

#include "storage/log.h"

namespace pelton::storage {

void LeaderEpochs::load(const std::vector<LeaderEpochEntry>& entries) {
  entries_.clear();
  for (const LeaderEpochEntry& entry : entries) assign(entry.epoch, entry.start_offset);
}

bool LeaderEpochs::assign(int32_t epoch, int64_t start_offset) {
  if (epoch < 0 || start_offset < 0) return false;
  if (!entries_.empty()) {
    const LeaderEpochEntry& last = entries_.back();
    if (last.epoch == epoch && start_offset >= last.start_offset) return false;
  }
  while (!entries_.empty() &&
         (entries_.back().epoch >= epoch || entries_.back().start_offset >= start_offset)) {
    entries_.pop_back();
  }
  entries_.push_back({epoch, start_offset});
  return true;
}

EpochEnd LeaderEpochs::end_of(int32_t epoch, int64_t log_end_offset) const {
  // Other negative epochs are older than all, as for Apache Kafka.
  if (epoch == -1 || entries_.empty() || epoch > latest()) return {-1, -1};
  if (epoch == latest()) return {epoch, log_end_offset};
  auto higher = std::upper_bound(
      entries_.begin(), entries_.end(), epoch,
      [](int32_t asked, const LeaderEpochEntry& entry) { return asked < entry.epoch; });
  int32_t found = higher == entries_.begin() ? epoch : std::prev(higher)->epoch;
  return {found, higher->start_offset};
}

int32_t LeaderEpochs::epoch_of(int64_t offset) const {
  auto after = std::upper_bound(
      entries_.begin(), entries_.end(), offset,
      [](int64_t asked, const LeaderEpochEntry& entry) { return asked < entry.start_offset; });
  return after == entries_.begin() ? -1 : std::prev(after)->epoch;
}

bool LeaderEpochs::truncate_from_end(int64_t end_offset) {
  size_t before = entries_.size();
  while (!entries_.empty() && entries_.back().start_offset >= end_offset) entries_.pop_back();
  return entries_.size() != before;
}

bool LeaderEpochs::truncate_from_start(int64_t start_offset) {
  auto first_after = std::upper_bound(
      entries_.begin(), entries_.end(), start_offset,
      [](int64_t asked, const LeaderEpochEntry& entry) { return asked < entry.start_offset; });
  if (first_after == entries_.begin()) return false;
  auto holder = std::prev(first_after);
  if (holder == entries_.begin() && holder->start_offset == start_offset) return false;
  holder->start_offset = start_offset;
  entries_.erase(entries_.begin(), holder);
  return true;
}

}  // namespace pelton::storage
