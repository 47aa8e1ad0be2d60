// FetchSessions: incremental fetch sessions (KIP-227): what a consumer asked for and was last told, so
// that its next requests and our answers carry only what changed.
//
// Owner shard: that of the connection which used the session last. It moves with its connection, and to that of
// another connection which uses its id (handlers/fetch.cc asks the shards in turn): as in Apache Kafka an id counts
// in the whole broker, but not while a fetch of the other connection is at work on it. Bounded: slots, and partitions in all of them together; each shard has its part of
// max.incremental.fetch.session.cache.slots for new ones, and looks for one to evict among its own.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "proto/error_code.h"
#include "reactor/base/uuid.h"

namespace pelton::broker {

inline constexpr int32_t kNoSession = 0;
inline constexpr int32_t kInitialEpoch = 0;
inline constexpr int32_t kFinalEpoch = -1;

// A topic is named by id (Fetch v13+) or by name; the other is empty.
struct SessionPartition {
  // Never changed: the session's keys are views of the name.
  std::string topic;
  Uuid topic_id;
  int32_t index = 0;
  // asked
  int64_t fetch_offset = 0;
  int32_t max_bytes = 0;
  int32_t current_leader_epoch = -1;
  int32_t last_fetched_epoch = -1;
  // last told
  int64_t high_watermark = -1;
  int64_t log_start_offset = -1;
};

class FetchSession {
 public:
  struct Key {
    std::string_view topic;
    Uuid topic_id;
    int32_t index;
    friend bool operator==(const Key&, const Key&) = default;
  };

  int32_t id = kNoSession;
  int32_t epoch = kInitialEpoch;   // expected of the next request
  bool uses_topic_ids = false;
  uint64_t last_used_ns = 0;

  // In the order in which they are read and answered.
  std::list<SessionPartition>& partitions() { return partitions_; }
  size_t size() const { return partitions_.size(); }
  SessionPartition* find(const Key& key);
  SessionPartition& add(SessionPartition partition);
  void forget(const Key& key);
  // A partition that had data is read last next time.
  void move_to_end(const Key& key);

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<std::string_view>{}(key.topic) ^ std::hash<Uuid>{}(key.topic_id) ^
             (static_cast<size_t>(key.index) * 0x9E3779B97F4A7C15ull);
    }
  };
  std::list<SessionPartition> partitions_;
  boost::unordered_flat_map<Key, std::list<SessionPartition>::iterator, KeyHash> by_key_;
};

class FetchSessions {
 public:
  struct Bounds {
    size_t sessions;
    size_t partitions;  // in all sessions together
  };
  // `share`: what may be begun here. `total`: what may be here with the sessions whose connections moved in, since
  // those are in use and their clients would have to begin again.
  FetchSessions(Bounds share, Bounds total) : share_(share), total_(total) {}

  // nullptr and an error, or the session at the expected epoch, which it moves on.
  std::shared_ptr<FetchSession> resume(int32_t id, int32_t epoch, bool uses_topic_ids,
                                       uint64_t now_ns, proto::ErrorCode& error);
  // nullptr when no slot can be had: the client goes on without a session.
  std::shared_ptr<FetchSession> create(uint64_t random, uint64_t now_ns, size_t partitions);
  bool contains(int32_t id) const { return sessions_.contains(id); }
  // False: it is not here.
  bool close(int32_t id);
  // Looked at after a session has grown: false = the sessions hold more partitions than they may.
  bool within_bound() const { return partitions_held() <= total_.partitions; }
  // Hands a session over to another shard's set, to the connection that uses it. take: nullptr when it
  // is not here or a request is at work on it. put: dropped when there is no room in all or the id is taken.
  std::shared_ptr<FetchSession> take(int32_t id);
  void put(std::shared_ptr<FetchSession> session, uint64_t now_ns);
  size_t size() const { return sessions_.size(); }
  uint64_t evictions() const { return evictions_; }

 private:
  bool make_room(uint64_t now_ns, size_t partitions, const Bounds& bounds);
  size_t partitions_held() const;

  Bounds share_;
  Bounds total_;
  uint64_t evictions_ = 0;
  boost::unordered_flat_map<int32_t, std::shared_ptr<FetchSession>> sessions_;
};

}  // namespace pelton::broker
