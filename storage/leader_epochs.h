// LeaderEpochs: at which offset each leader epoch of a partition began. Answers OffsetForLeaderEpoch.
//
// Owner shard: the log's. Lifetime: a part of the log.
// Invariants: epochs and start offsets both ascend strictly; epochs are never negative.
#pragma once

#include <cstdint>
#include <vector>

namespace pelton::storage {

struct EpochEnd;

struct LeaderEpochEntry {
  int32_t epoch = 0;
  int64_t start_offset = 0;
  friend bool operator==(const LeaderEpochEntry&, const LeaderEpochEntry&) = default;
};

class LeaderEpochs {
 public:
  // Takes entries as they come from a file; those that break the order are dropped as a later
  // assignment would have dropped them.
  void load(const std::vector<LeaderEpochEntry>& entries);

  // Notes that `epoch` begins at `start_offset`. Entries that this contradicts are removed. Returns
  // whether anything changed.
  bool assign(int32_t epoch, int64_t start_offset);

  int32_t latest() const { return entries_.empty() ? -1 : entries_.back().epoch; }
  // The largest epoch at or below the one asked and where it ends; (-1, -1) when the epoch asked for is
  // above all known. An epoch below all known ends where the first known begins.
  EpochEnd end_of(int32_t epoch, int64_t log_end_offset) const;
  // The epoch of the record at `offset`, -1 before the first.
  int32_t epoch_of(int64_t offset) const;

  // Forgets what begins at or after `end_offset`; returns whether anything changed.
  bool truncate_from_end(int64_t end_offset);
  // Forgets epochs that ended at or before `start_offset`; the one that holds it begins there from now
  // on. Returns whether anything changed.
  bool truncate_from_start(int64_t start_offset);

  const std::vector<LeaderEpochEntry>& entries() const { return entries_; }

 private:
  std::vector<LeaderEpochEntry> entries_;
};

}  // namespace pelton::storage
