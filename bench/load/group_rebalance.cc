// How long a group of the classic protocol takes until all members are stable again when one leaves, and what
// that costs the broker. Every member has a connection, sends a heartbeat when somebody leaves or comes back (and
// every so often), and joins as soon as one of them tells it of a rebalance; the leader assigns at once. The
// member that left comes back before the next round.
// Prints one JSON object.
//
// usage: group_rebalance --port n --pid broker [--members 200] [--rounds 20] [--warmup 5] [--heartbeat-ms 100]
//                        [--assignment-bytes 200]
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/kafka_client.h"
#include "bench/load/options.h"
#include "bench/load/percentiles.h"
#include "proto/error_code.h"
#include "proto/messages/heartbeat.h"
#include "proto/messages/find_coordinator.h"
#include "proto/messages/join_group.h"
#include "proto/messages/leave_group.h"
#include "proto/messages/sync_group.h"

namespace pelton::bench {
namespace {

using proto::ErrorCode;

constexpr int kStalledMs = 60'000;
constexpr int32_t kTimeoutMs = 60'000;

struct Shared {
  std::string group;
  std::vector<uint8_t> metadata;
  std::vector<uint8_t> assignment;
  int64_t heartbeat_ns;
};

class Member {
 public:
  enum class State { kAway, kAsking, kJoining, kSyncing, kStable };

  Member(uint16_t port, const Shared& shared) : client_(port), shared_(shared) {}

  int fd() const { return client_.fd(); }
  State state() const { return state_; }
  bool idle() const { return state_ == State::kStable && !beating_; }
  int32_t generation() const { return generation_; }
  const std::string& id() const { return id_; }
  int64_t next_beat_ns() const { return next_beat_ns_; }

  void join() {
    proto::JoinGroupRequest request;
    proto::JoinGroupRequest::JoinGroupRequestProtocol protocol;
    protocol.name = "range";
    protocol.metadata = shared_.metadata;
    request.group_id = shared_.group;
    request.session_timeout_ms = kTimeoutMs;
    request.rebalance_timeout_ms = kTimeoutMs;
    request.member_id = id_;
    request.protocol_type = "consumer";
    request.protocols = {&protocol, 1};
    client_.send(request);
    state_ = id_.empty() ? State::kAsking : State::kJoining;
  }

  // Waits for the answer; nothing else may be under way.
  void leave() {
    proto::LeaveGroupRequest request;
    proto::LeaveGroupRequest::MemberIdentity who;
    who.member_id = id_;
    request.group_id = shared_.group;
    request.members = {&who, 1};
    expect(client_.call<proto::LeaveGroupResponse>(request).error_code, "LeaveGroup");
    id_.clear();
    state_ = State::kAway;
  }

  void beat(int64_t now) {
    proto::HeartbeatRequest request;
    request.group_id = shared_.group;
    request.generation_id = generation_;
    request.member_id = id_;
    client_.send(request);
    beating_ = true;
    next_beat_ns_ = now + shared_.heartbeat_ns;
  }

  void on_answer() {
    if (beating_) return on_heartbeat();
    switch (state_) {
      case State::kAsking:
      case State::kJoining:
        return on_joined();
      case State::kSyncing:
        return on_synced();
      case State::kAway:
      case State::kStable:
        fail("an answer that nobody waits for");
    }
  }

 private:
  static void expect(int16_t code, std::string_view what) {
    if (code == 0) return;
    errno = 0;
    fail(fmt::format("{}: {}", what, proto::name(static_cast<ErrorCode>(code))));
  }

  void on_heartbeat() {
    auto code = static_cast<ErrorCode>(client_.receive<proto::HeartbeatResponse>().error_code);
    beating_ = false;
    if (code == ErrorCode::kRebalanceInProgress) return join();
    expect(proto::wire(code), "Heartbeat");
  }

  void on_joined() {
    auto response = client_.receive<proto::JoinGroupResponse>();
    id_ = response.member_id;
    if (static_cast<ErrorCode>(response.error_code) == ErrorCode::kMemberIdRequired) return join();
    expect(response.error_code, "JoinGroup");
    generation_ = response.generation_id;
    proto::SyncGroupRequest request;
    std::vector<proto::SyncGroupRequest::SyncGroupRequestAssignment> assignments;
    for (const auto& member : response.members)
      assignments.push_back({.member_id = member.member_id, .assignment = shared_.assignment});
    request.group_id = shared_.group;
    request.generation_id = generation_;
    request.member_id = id_;
    request.protocol_type = "consumer";
    request.protocol_name = "range";
    request.assignments = assignments;
    client_.send(request);
    state_ = State::kSyncing;
  }

  void on_synced() {
    auto response = client_.receive<proto::SyncGroupResponse>();
    // Others joined meanwhile: once more.
    if (static_cast<ErrorCode>(response.error_code) == ErrorCode::kRebalanceInProgress) return join();
    expect(response.error_code, "SyncGroup");
    if (response.assignment.size() != shared_.assignment.size()) fail("a wrong assignment");
    state_ = State::kStable;
  }

  KafkaClient client_;
  const Shared& shared_;
  State state_ = State::kAway;
  std::string id_;
  int32_t generation_ = -1;
  bool beating_ = false;
  int64_t next_beat_ns_ = 0;
};

class Group {
 public:
  Group(uint16_t port, size_t members, const Shared& shared) {
    for (size_t i = 0; i < members; ++i) members_.push_back(std::make_unique<Member>(port, shared));
  }

  // All of them, until they are in one generation.
  void assemble() {
    for (auto& member : members_) member->join();
    run_until_stable(members_.size());
    beat_all();
  }

  // Nanoseconds from one's leaving until the others are stable, and from its return until all are.
  std::pair<int64_t, int64_t> round(size_t leaver) {
    run_until_idle();
    Member& member = *members_[leaver];
    int64_t started = monotonic_ns();
    member.leave();
    beat_all();  // or it would be the time between two heartbeats that is measured
    run_until_stable(members_.size() - 1);
    int64_t left = monotonic_ns() - started;
    started = monotonic_ns();
    member.join();
    while (member.state() == Member::State::kAsking) turn();
    beat_all();
    run_until_stable(members_.size());
    return {left, monotonic_ns() - started};
  }

 private:
  void beat_all() {
    int64_t now = monotonic_ns();
    for (auto& member : members_) {
      if (member->idle()) member->beat(now);
    }
  }

  void run_until_stable(size_t wanted) {
    while (!stable(wanted)) turn();
  }
  void run_until_idle() {
    while (!std::ranges::all_of(members_, [](const auto& member) { return member->idle(); })) turn();
  }
  bool stable(size_t wanted) const {
    size_t found = 0;
    int32_t generation = -1;
    for (const auto& member : members_) {
      if (member->state() == Member::State::kAway) continue;
      if (member->state() != Member::State::kStable) return false;
      if (generation >= 0 && member->generation() != generation) return false;
      generation = member->generation();
      ++found;
    }
    return found == wanted;
  }

  void turn() {
    int64_t now = monotonic_ns();
    int64_t next = now + int64_t{kStalledMs} * 1'000'000;
    std::vector<pollfd> waiting;
    for (auto& member : members_) {
      if (member->idle() && member->next_beat_ns() <= now) member->beat(now);
      if (member->idle()) next = std::min(next, member->next_beat_ns());
      waiting.push_back({.fd = member->fd(), .events = POLLIN, .revents = 0});
    }
    int timeout = static_cast<int>((next - now + 999'999) / 1'000'000);
    int ready = ::poll(waiting.data(), waiting.size(), timeout);
    if (ready == 0 && timeout >= kStalledMs) fail("the group stands still");
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) members_[i]->on_answer();
    }
  }

  std::vector<std::unique_ptr<Member>> members_;
};

// Apache Kafka makes the offsets topic and loads coordinators first.
void wait_for_coordinator(uint16_t port, const std::string& group) {
  KafkaClient client(port);
  for (int64_t end = monotonic_ns() + int64_t{kStalledMs} * 1'000'000; monotonic_ns() < end; ::usleep(100'000)) {
    proto::FindCoordinatorRequest find;
    std::string_view key = group;
    find.coordinator_keys = {&key, 1};
    auto found = client.call<proto::FindCoordinatorResponse>(find);
    if (found.coordinators.empty() || found.coordinators[0].error_code != 0) continue;
    proto::HeartbeatRequest beat;
    beat.group_id = group;
    beat.member_id = "nobody";
    auto error = static_cast<ErrorCode>(client.call<proto::HeartbeatResponse>(beat).error_code);
    if (error == ErrorCode::kUnknownMemberId) return;
  }
  fail("no coordinator");
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  int64_t pid = options.number("--pid", 0);
  size_t members = static_cast<size_t>(options.number("--members", 200));
  int64_t rounds = options.number("--rounds", 20);
  int64_t warmup = options.number("--warmup", 5);
  Shared shared{.group = options.text("--group", "rebalance-bench"),
                .metadata = std::vector<uint8_t>(100, 'm'),
                .assignment = std::vector<uint8_t>(static_cast<size_t>(options.number("--assignment-bytes", 200)), 'a'),
                .heartbeat_ns = options.number("--heartbeat-ms", 100) * 1'000'000};
  options.done();

  wait_for_coordinator(port, shared.group);
  Group group(port, members, shared);
  group.assemble();
  for (int64_t i = 0; i < warmup; ++i) group.round(static_cast<size_t>(i) % members);
  Percentiles left, returned;
  int64_t cpu = process_cpu_ns(pid);
  for (int64_t i = 0; i < rounds; ++i) {
    auto [leave_ns, return_ns] = group.round(static_cast<size_t>(i * 7 + 1) % members);
    left.add_ns(leave_ns);
    returned.add_ns(return_ns);
  }
  cpu = process_cpu_ns(pid) - cpu;
  fmt::print(R"({{"members": {}, "rounds": {}, "left_us": {}, "returned_us": {}, "cpu_ms_per_round": {:.3f}}})"
             "\n",
             members, rounds, left.json_us(), returned.json_us(), static_cast<double>(cpu) / 1e6 / static_cast<double>(rounds));
}
