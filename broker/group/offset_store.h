// OffsetStore: the committed offsets of the groups of one coordinator partition, and those of
// transactions that have not ended. Changed only by replaying records.
//
// Owner: the group coordinator, on its shard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "broker/group/memory_gauge.h"
#include "reactor/base/uuid.h"

namespace pelton::broker::group {

struct CommittedOffset {
  int64_t offset = -1;
  int32_t leader_epoch = -1;
  std::string metadata;
  int64_t commit_timestamp = -1;
  std::optional<int64_t> expire_timestamp;  // given by old clients
  Uuid topic_id;                            // zero: not known
  int64_t record_offset = -1;               // of the record in the log
};

using PartitionOffsets = std::map<int32_t, CommittedOffset>;
using TopicOffsets = std::map<std::string, PartitionOffsets, std::less<>>;
using GroupOffsets = std::map<std::string, TopicOffsets, std::less<>>;

class OffsetStore {
 public:
  explicit OffsetStore(MemoryGauge& memory) : charge_(memory) {}

  void put(std::string_view group, std::string_view topic, int32_t partition,
           CommittedOffset offset);
  // An offset of an open transaction.
  void put_pending(int64_t producer_id, std::string_view group, std::string_view topic,
                   int32_t partition, CommittedOffset offset);
  void remove(std::string_view group, std::string_view topic, int32_t partition);
  void end_transaction(int64_t producer_id, bool committed);

  const CommittedOffset* find(std::string_view group, std::string_view topic,
                              int32_t partition) const;
  // nullptr when the group has none.
  const TopicOffsets* find(std::string_view group) const;
  const GroupOffsets& all() const { return offsets_; }
  bool has_pending(std::string_view group, std::string_view topic, int32_t partition) const;
  bool has_pending(std::string_view group) const;
  // visit(const TopicOffsets&) for each open transaction's offsets of the group.
  template <class Visit>
  void for_each_pending(std::string_view group, Visit&& visit) const {
    for (const auto& [producer_id, pending] : pending_) {
      auto found = pending.find(group);
      if (found != pending.end()) visit(found->second);
    }
  }
  // What another offset takes in memory, about, in a topic and a group that have some.
  static size_t bytes_of(const CommittedOffset& offset);

 private:
  void put_into(GroupOffsets& offsets, std::string_view group, std::string_view topic,
                int32_t partition, CommittedOffset offset);
  void erase_from(GroupOffsets& offsets, std::string_view group, std::string_view topic,
                  int32_t partition);
  void add_bytes(size_t bytes) { charge_.set(charge_.bytes() + bytes); }
  void take_off_bytes(size_t bytes) { charge_.set(charge_.bytes() - bytes); }

  MemoryCharge charge_;
  GroupOffsets offsets_;
  std::map<int64_t, GroupOffsets> pending_;  // by producer id
};

}  // namespace pelton::broker::group
