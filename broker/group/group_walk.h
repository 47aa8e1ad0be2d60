// GroupWalk: one request about several groups. Each group is visited on the shard that coordinates it, shard
// after shard, a bounded part of them in a turn; visits on one shard wait for their commits together.
//
// State of its request (make_state), on whatever shard that is: whoever holds the request owns the walk.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "broker/coordinator/state_machine.h"
#include "broker/request.h"

namespace pelton::broker::group {

class GroupWalk {
 public:
  // One group of the request.
  class Item final : public coordinator::Continuation {
   public:
    size_t index() const { return index_; }
    // For a writer's after_pending(): the walk stays on this shard until it is told.
    coordinator::Continuation& wait();
    void done(proto::ErrorCode error) override;

   private:
    friend class GroupWalk;
    GroupWalk* walk_ = nullptr;
    size_t index_ = 0;
    ShardId shard_ = 0;
  };

  explicit GroupWalk(Request& request) : request_(request) {}
  GroupWalk(const GroupWalk&) = delete;
  GroupWalk& operator=(const GroupWalk&) = delete;

  // Before start(): how many groups there are at most, and each that has a coordinator. add() returns false
  // for one that has none.
  void expect(size_t groups);
  bool add(const BrokerShard& here, size_t index, std::string_view group_id);
  void start(BrokerShard& here);

 protected:
  ~GroupWalk() = default;
  Request& request() { return request_; }

  enum class Step {
    kDone,
    kAgain  // there is more to do for this group, in a later turn
  };
  virtual Step visit(BrokerShard& here, Item& item) = 0;
  // What item.wait() was given to has ended.
  virtual void committed(size_t index, proto::ErrorCode error);
  // All have been visited, and nothing is waited for: answers the request.
  virtual void finish() = 0;

 private:
  static void walk_on(BrokerShard& here, Request& request);
  void walk(BrokerShard& here);
  // Whether nothing is waited for; otherwise the walk goes on when it has ended.
  bool all_committed(BrokerShard& here);

  Request& request_;
  std::span<Item> items_;  // by shard
  size_t count_ = 0;
  size_t at_ = 0;
  size_t outstanding_ = 0;
  BrokerShard* waiting_on_ = nullptr;
};

}  // namespace pelton::broker::group
