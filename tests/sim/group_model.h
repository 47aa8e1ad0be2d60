// GroupModel: what the coordinator has promised the members of a group: a generation that was seen does not
// come again, a partition has one owner in a generation, commits of older generations are refused. (Committed
// offsets are the Model's.)
//
// Owner: the run. One thread. `Moment` is taken when a request is sent. What a generation is worth: once
// somebody has its assignment it outlives every crash; before that it lives as long as the process, or until a
// write fails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pelton::sim {

class GroupModel {
 public:
  struct Moment {
    uint64_t process = 0;
    int32_t generation = 0;  // nothing older is valid
  };
  using Breach = std::function<void(const std::string&)>;

  explicit GroupModel(Breach breach) : breach_(std::move(breach)) {}

  // Writes of the coordinator may fail: it then forgets generations that were not stored.
  void writes_may_fail() { forgets_ = true; }
  void crashed() {
    ++process_;
    joined_.clear();
  }

  Moment moment(const std::string& group) const;
  // A JoinGroup was answered with this generation.
  void joined(const std::string& group, int32_t generation, const Moment& sent);
  // A SyncGroup was answered: `owner` has these partitions.
  void assigned(const std::string& group, int32_t generation, const std::string& owner,
                const std::vector<int32_t>& partitions, const Moment& sent);
  // A commit or heartbeat of this generation was accepted.
  void accepted(const std::string& group, int32_t generation, const char* what, const Moment& sent);

  uint64_t assignments() const { return assignments_; }
  // Answers that sent a member away.
  uint64_t refusals() const { return refusals_; }
  void refused() { ++refusals_; }

 private:
  using Owned = std::pair<int32_t, int32_t>;  // generation, partition

  static int32_t newest(const std::map<std::string, int32_t>& of, const std::string& group);
  void check(const std::string& group, int32_t generation, const char* what, const Moment& sent);

  Breach breach_;
  bool forgets_ = false;
  uint64_t process_ = 0;
  std::map<std::string, int32_t> joined_;    // newest of this process
  std::map<std::string, int32_t> assigned_;  // newest of all
  std::map<std::string, std::map<Owned, std::string>> owners_;
  uint64_t assignments_ = 0;
  uint64_t refusals_ = 0;
};

}  // namespace pelton::sim
