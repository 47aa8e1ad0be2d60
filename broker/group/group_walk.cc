#include "broker/group/group_walk.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/group/group_lookup.h"

namespace pelton::broker::group {
namespace {

constexpr size_t kGroupsPerTurn = 500;

}  // namespace

coordinator::Continuation& GroupWalk::Item::wait() {
  ++walk_->outstanding_;
  return *this;
}

void GroupWalk::Item::done(proto::ErrorCode error) {
  GroupWalk& walk = *walk_;
  walk.committed(index_, error);
  --walk.outstanding_;
  if (walk.outstanding_ == 0 && walk.waiting_on_ != nullptr) walk.walk(*walk.waiting_on_);
}

void GroupWalk::committed(size_t, proto::ErrorCode) {}

void GroupWalk::expect(size_t groups) { items_ = request_.make_states<Item>(groups); }

bool GroupWalk::add(const BrokerShard& here, size_t index, std::string_view group_id) {
  auto place = coordinator_place(*here.catalog, group_id);
  if (!place) return false;
  Item& item = items_[count_++];
  item.walk_ = this;
  item.index_ = index;
  item.shard_ = place->shard;
  return true;
}

void GroupWalk::start(BrokerShard& here) {
  items_ = items_.first(count_);
  std::ranges::sort(items_, {}, [](const Item& item) { return std::pair(item.shard_, item.index_); });
  request_.state = this;
  walk(here);
}

void GroupWalk::walk_on(BrokerShard& here, Request& request) {
  static_cast<GroupWalk*>(request.state)->walk(here);
}

void GroupWalk::walk(BrokerShard& here) {
  waiting_on_ = nullptr;
  size_t left = kGroupsPerTurn;
  for (; at_ < items_.size(); ++at_) {
    Item& item = items_[at_];
    if (item.shard_ != here.shard.id()) {
      if (all_committed(here)) request_.hop(item.shard_, &walk_on);
      return;
    }
    if (left-- == 0 || visit(here, item) == Step::kAgain) {
      request_.hop(here.shard.id(), &walk_on);
      return;
    }
  }
  if (all_committed(here)) finish();
}

bool GroupWalk::all_committed(BrokerShard& here) {
  if (outstanding_ == 0) return true;
  waiting_on_ = &here;
  return false;
}

}  // namespace pelton::broker::group
