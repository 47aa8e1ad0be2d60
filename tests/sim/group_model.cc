#include "tests/sim/group_model.h"

#include <algorithm>

#include <fmt/format.h>

namespace pelton::sim {

int32_t GroupModel::newest(const std::map<std::string, int32_t>& of, const std::string& group) {
  auto found = of.find(group);
  return found == of.end() ? 0 : found->second;
}

GroupModel::Moment GroupModel::moment(const std::string& group) const {
  int32_t stored = newest(assigned_, group);
  return {process_, forgets_ ? stored : std::max(stored, newest(joined_, group))};
}

void GroupModel::check(const std::string& group, int32_t generation, const char* what,
                       const Moment& sent) {
  if (generation < sent.generation)
    breach_(fmt::format("group {}: {} of generation {} when {} had been seen", group, what, generation,
                        sent.generation));
}

void GroupModel::joined(const std::string& group, int32_t generation, const Moment& sent) {
  check(group, generation, "a JoinGroup answer", sent);
  // An answer may come out of a dead process's buffers.
  if (sent.process == process_) joined_[group] = std::max(joined_[group], generation);
}

void GroupModel::assigned(const std::string& group, int32_t generation, const std::string& owner,
                          const std::vector<int32_t>& partitions, const Moment& sent) {
  check(group, generation, "a SyncGroup answer", sent);
  assigned_[group] = std::max(assigned_[group], generation);
  ++assignments_;
  for (int32_t partition : partitions) {
    auto [at, is_new] = owners_[group].try_emplace(Owned{generation, partition}, owner);
    if (!is_new && at->second != owner)
      breach_(fmt::format("group {} generation {}: partition {} belongs to {} and to {}", group, generation,
                          partition, at->second, owner));
  }
}

void GroupModel::accepted(const std::string& group, int32_t generation, const char* what,
                          const Moment& sent) {
  check(group, generation, what, sent);
}

}  // namespace pelton::sim
