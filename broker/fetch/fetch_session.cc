#include "broker/fetch/fetch_session.h"

#include "reactor/base/check.h"

namespace pelton::broker {
namespace {

// Apache Kafka's min.incremental.fetch.session.eviction.ms: a session idle for less is not evicted.
constexpr uint64_t kMinEvictionNs = 120'000'000'000;

int32_t next_epoch(int32_t epoch) { return epoch == INT32_MAX ? 1 : epoch + 1; }

FetchSession::Key key_of(const SessionPartition& partition) {
  return {partition.topic, partition.topic_id, partition.index};
}

}  // namespace

SessionPartition* FetchSession::find(const Key& key) {
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &*found->second;
}

SessionPartition& FetchSession::add(SessionPartition partition) {
  forget(key_of(partition));
  auto place = partitions_.insert(partitions_.end(), std::move(partition));
  by_key_.emplace(key_of(*place), place);
  return *place;
}

void FetchSession::forget(const Key& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  auto place = found->second;
  by_key_.erase(found);
  partitions_.erase(place);
}

void FetchSession::move_to_end(const Key& key) {
  auto found = by_key_.find(key);
  if (found != by_key_.end()) partitions_.splice(partitions_.end(), partitions_, found->second);
}

std::shared_ptr<FetchSession> FetchSessions::resume(int32_t id, int32_t epoch, bool uses_topic_ids,
                                                    uint64_t now_ns, proto::ErrorCode& error) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    error = proto::ErrorCode::kFetchSessionIdNotFound;
    return nullptr;
  }
  FetchSession& session = *found->second;
  if (session.epoch != epoch) {
    error = proto::ErrorCode::kInvalidFetchSessionEpoch;
    return nullptr;
  }
  if (session.uses_topic_ids != uses_topic_ids) {
    error = proto::ErrorCode::kFetchSessionTopicIdError;
    return nullptr;
  }
  session.epoch = next_epoch(epoch);
  session.last_used_ns = now_ns;
  return found->second;
}

size_t FetchSessions::partitions_held() const {
  size_t held = 0;
  for (const auto& [id, session] : sessions_) held += session->size();
  return held;
}

bool FetchSessions::make_room(uint64_t now_ns, size_t partitions, const Bounds& bounds) {
  auto has_room = [&] {
    return sessions_.size() < bounds.sessions && partitions_held() + partitions <= bounds.partitions;
  };
  if (has_room()) return true;
  auto oldest = sessions_.end();
  for (auto each = sessions_.begin(); each != sessions_.end(); ++each)
    if (oldest == sessions_.end() || each->second->last_used_ns < oldest->second->last_used_ns)
      oldest = each;
  if (oldest == sessions_.end() || now_ns - oldest->second->last_used_ns < kMinEvictionNs)
    return false;
  // Nobody loses his session for nothing: there may be more than one too many, that moved in.
  size_t held = partitions_held() - oldest->second->size();
  if (sessions_.size() > bounds.sessions || held + partitions > bounds.partitions) return false;
  sessions_.erase(oldest);
  ++evictions_;
  return true;
}

std::shared_ptr<FetchSession> FetchSessions::create(uint64_t random, uint64_t now_ns,
                                                    size_t partitions) {
  if (!make_room(now_ns, partitions, share_)) return nullptr;
  int32_t id = static_cast<int32_t>(random & INT32_MAX);
  while (id == kNoSession || sessions_.contains(id)) id = (id + 1) & INT32_MAX;
  auto session = std::make_shared<FetchSession>();
  session->id = id;
  session->epoch = next_epoch(kInitialEpoch);
  session->last_used_ns = now_ns;
  sessions_.emplace(id, session);
  return session;
}

bool FetchSessions::close(int32_t id) { return sessions_.erase(id) > 0; }

std::shared_ptr<FetchSession> FetchSessions::take(int32_t id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  // A fetch of another connection is at work on it: it must not be on two shards at once.
  if (found->second.use_count() > 1) return nullptr;
  std::shared_ptr<FetchSession> session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

void FetchSessions::put(std::shared_ptr<FetchSession> session, uint64_t now_ns) {
  if (session == nullptr || sessions_.contains(session->id)) return;
  if (!make_room(now_ns, session->size(), total_)) return;
  int32_t id = session->id;
  sessions_.emplace(id, std::move(session));
}

}  // namespace pelton::broker
