// Model: what the broker has promised: which record lies where, how far readers may see, which offsets were
// committed. Clients report what they are told and shown; the model says when two reports, or a report and
// a promise, do not go together.
//
// Owner: the run. One thread.
// What a promise is worth: on a synced topic an answer to acks=all and everything below a high watermark
// outlive any crash; an answer to acks=1 outlives a kill. On a page-cache topic both outlive a kill, none
// a power loss. `Moment` is taken when a request is sent: what is answered to a request from before a power
// loss says nothing about what is there after it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/group_model.h"
#include "tests/sim/world/sim_disk.h"
#include "tests/sim/world/world.h"

namespace pelton::sim {

// A record as its producer numbers it: unique in the run.
struct RecordId {
  uint32_t producer = 0;
  uint32_t partition = 0;
  uint64_t number = 0;
  friend auto operator<=>(const RecordId&, const RecordId&) = default;
};
std::string to_string(const RecordId& id);

struct TopicSpec {
  std::string name;
  int32_t partitions = 1;
  bool synced = true;
};

class Model {
 public:
  struct Moment {
    uint64_t power_losses = 0;
    int64_t high_watermark = 0;
  };
  using Violation = std::function<void(const std::string&)>;

  Model(World& world, std::vector<TopicSpec> topics, Violation violation);

  const std::vector<TopicSpec>& topics() const { return topics_; }
  Moment moment(size_t topic, int32_t partition) const;
  bool stale(size_t topic, const Moment& sent) const;

  // An answer gave this record this offset.
  void acked(size_t topic, int32_t partition, int64_t offset, const RecordId& id, int acks,
             const Moment& sent);
  // A fetch showed it.
  void saw(size_t topic, int32_t partition, int64_t offset, const RecordId& id, const Moment& sent);
  void saw_high_watermark(size_t topic, int32_t partition, int64_t offset, const Moment& sent);
  // A fetch at `offset` was answered OFFSET_OUT_OF_RANGE.
  void out_of_range(size_t topic, int32_t partition, int64_t offset, const Moment& sent);
  void crashed(CrashKind kind);

  GroupModel& groups() { return groups_; }

  // The whole partition as read at the end.
  void compare(size_t topic, int32_t partition, const std::vector<RecordId>& log, int64_t high_watermark);

  // --- committed offsets: one committer for each name ---
  void commit_tried(const std::string& name, int64_t offset);
  void commit_acked(const std::string& name, int64_t offset);
  int64_t committed(const std::string& name) const;
  // Offsets of this name are no longer known: their topic was deleted.
  void forget_commits(const std::string& name) { committed_.erase(name); }
  // Everything that was committed.
  std::vector<std::string> commit_names() const;
  // A fetch of the offset that was sent when `at_least` was acknowledged.
  void saw_committed(const std::string& name, int64_t offset, int64_t at_least);

  // A client saw what no broker may do, whatever was promised.
  void violation(const std::string& what) { violation_(what); }
  // A promise was broken.
  bool broken() const { return broken_; }

  uint64_t records_acked() const { return records_acked_; }
  uint64_t records_seen() const { return records_seen_; }
  uint64_t commits_acked() const { return commits_acked_; }
  uint64_t assignments() const { return groups_.assignments(); }
  uint64_t refusals() const { return groups_.refusals(); }

 private:
  struct Place {
    RecordId id;
    bool strong = false;  // outlives every crash
  };
  struct Partition {
    std::map<int64_t, Place> at;
    std::map<RecordId, int64_t> where;
    int64_t high_watermark = 0;
  };
  struct Committed {
    int64_t tried = -1;
    int64_t acked = -1;
  };

  void breach(const std::string& what) {
    broken_ = true;
    violation_(what);
  }
  Partition& part(size_t topic, int32_t partition) { return partitions_[topic][partition]; }
  std::string name(size_t topic, int32_t partition) const;
  void place(size_t topic, int32_t partition, int64_t offset, const RecordId& id, bool strong,
             const char* how);
  static void lose(Partition& partition, bool synced);
  void compare_order(const std::string& partition_name, const std::vector<RecordId>& log);

  World& world_;
  std::vector<TopicSpec> topics_;
  Violation violation_;
  std::vector<std::map<int32_t, Partition>> partitions_;
  std::map<std::string, Committed> committed_;
  GroupModel groups_{[this](const std::string& what) { breach(what); }};
  bool broken_ = false;
  uint64_t power_losses_ = 0;
  uint64_t records_acked_ = 0;
  uint64_t records_seen_ = 0;
  uint64_t commits_acked_ = 0;
};

}  // namespace pelton::sim
