// ClassicMember: one member of a classic group.
//
// Owner: its group. Its waiters belong to requests: each is answered exactly once, also when the
// member goes; a second JoinGroup or SyncGroup of the same member answers the first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/group/memory_gauge.h"
#include "proto/messages/join_group.h"
#include "proto/messages/sync_group.h"
#include "reactor/base/bytes.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker::group {

// A JoinGroup or SyncGroup that waits for its answer. The response's views are valid during the
// call.
class JoinWaiter {
 public:
  virtual void answer(const proto::JoinGroupResponse& response) = 0;

 protected:
  ~JoinWaiter() = default;
};
class SyncWaiter {
 public:
  virtual void answer(const proto::SyncGroupResponse& response) = 0;

 protected:
  ~SyncWaiter() = default;
};

using Blob = std::vector<uint8_t>;
inline Blob to_blob(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

struct MemberProtocol {
  std::string name;
  Blob metadata;
};

// Whose session a timer watches; also before the member has joined (its id was just given out).
class SessionOwner {
 public:
  // By value: the session may go during the call.
  virtual void session_expired(std::string group_id, std::string member_id) = 0;

 protected:
  ~SessionOwner() = default;
};

class Session {
 public:
  Session(SessionOwner& owner, MemoryGauge& memory, const std::string& group_id, std::string member_id)
      : owner_(owner), group_id_(group_id), member_id_(std::move(member_id)), charge_(memory) {
    charge_.set(sizeof(Session) + 2 * member_id_.size() + kNodeBytes);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start(TimerWheel& timers, uint64_t deadline_ns) { timers.start(timer_, deadline_ns); }
  void cancel(TimerWheel& timers) { timers.cancel(timer_); }
  bool active() const { return timer_.active(); }
  const std::string& member_id() const { return member_id_; }

 private:
  void expired() { owner_.session_expired(group_id_, member_id_); }

  SessionOwner& owner_;
  const std::string& group_id_;  // the group's own
  std::string member_id_;
  MemoryCharge charge_;
  Timer timer_ = Timer::bind<&Session::expired>(this);
};

struct ClassicMember {
  ClassicMember(SessionOwner& owner, MemoryGauge& memory, const std::string& group_id,
                std::string member_id)
      : session(owner, memory, group_id, std::move(member_id)), charge(memory) {}

  const std::string& id() const { return session.member_id(); }
  bool is_static() const { return instance_id.has_value(); }
  bool awaiting_join() const { return join_waiter != nullptr; }
  bool awaiting_sync() const { return sync_waiter != nullptr; }
  // A member in the middle of a rebalance need not send heartbeats; a new one gets only its time to
  // join.
  bool heartbeat_satisfied() const { return !is_new && (awaiting_join() || awaiting_sync()); }

  // What a join with these protocols makes a member take in memory, about.
  static size_t bytes_of(std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> offered);
  // The same of the protocols it has.
  size_t protocol_bytes() const;
  void set_assignment(Blob bytes);
  // After anything else of it has changed.
  void count_memory();

  // Drops what was there; of protocols with the same name the first counts.
  void set_protocols(std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> offered);
  bool supports(std::string_view protocol) const;
  // Metadata under a protocol it supports; empty for another.
  Bytes metadata(std::string_view protocol) const;
  // Same protocols, in the same order, with the same metadata.
  bool matches(std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> other) const;

  Session session;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  int32_t rebalance_timeout_ms = 0;
  int32_t session_timeout_ms = 0;
  std::string protocol_type;
  std::vector<MemberProtocol> protocols;  // in the member's order of preference
  Blob assignment;
  bool is_new = false;
  JoinWaiter* join_waiter = nullptr;
  SyncWaiter* sync_waiter = nullptr;
  MemoryCharge charge;  // all but the session
};

}  // namespace pelton::broker::group
