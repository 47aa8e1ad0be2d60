// A coordinator partition without a broker: a log in memory that commits when it is told to, and a
// clock that moves by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/coordinator/coordinator_partition.h"
#include "broker/group/group_coordinator.h"
#include "proto/batch.h"

namespace pelton::broker::group {

using coordinator::CoordinatorPartition;
using proto::ErrorCode;

// What was committed; lives longer than the coordinator, as a disk does.
struct Disk {
  std::vector<std::vector<uint8_t>> batches;
  int64_t next_offset = 0;
};

class FakeLog final : public coordinator::CoordinatorLog {
 public:
  explicit FakeLog(Disk& disk) : disk_(disk), next_(disk.next_offset) {}

  int64_t start_offset() const override { return 0; }
  int64_t next_offset() const override { return next_; }
  size_t max_batch_bytes() const override { return max_batch; }
  Status read(int64_t offset, coordinator::BatchVisitor& visitor) override {
    if (fail_reads) return sys_error(EIO);
    for (const auto& batch : disk_.batches) {
      if (proto::BatchView(batch).last_offset() < offset) continue;
      if (!visitor.visit(batch)) break;
    }
    return {};
  }
  ErrorCode append(MutableBytes batch, int64_t) override {
    if (next_append != ErrorCode::kNone) return std::exchange(next_append, ErrorCode::kNone);
    proto::set_base_offset(batch, next_);
    next_ = proto::BatchView(batch).next_offset();
    appended_.push_back(batch);
    return ErrorCode::kNone;
  }
  void wait_committed(CommitWaiter& waiter) override { waiters_.push_back(&waiter); }

  // Everything appended reaches the disk.
  void commit() {
    for (MutableBytes batch : std::exchange(appended_, {})) {
      disk_.batches.emplace_back(batch.begin(), batch.end());
      disk_.next_offset = proto::BatchView(batch).next_offset();
    }
    call(ErrorCode::kNone);
  }
  // Everything appended is lost.
  void fail(ErrorCode error) {
    appended_.clear();
    next_ = disk_.next_offset;
    call(error);
  }
  size_t uncommitted() const { return appended_.size(); }

  size_t max_batch = 1'048'588;
  ErrorCode next_append = ErrorCode::kNone;
  bool fail_reads = false;

 private:
  void call(ErrorCode error) {
    for (CommitWaiter* waiter : std::exchange(waiters_, {})) waiter->done(waiter->owner, error);
  }

  Disk& disk_;
  int64_t next_;
  std::vector<MutableBytes> appended_;
  std::vector<CommitWaiter*> waiters_;
};

class ManualEnvironment final : public coordinator::Environment {
 public:
  TimerWheel& timers() override { return wheel_; }
  uint64_t now_ns() override { return now_ns_; }
  int64_t wall_ms() override {
    return 1'700'000'000'000 + static_cast<int64_t>(now_ns_ / 1'000'000);
  }
  uint64_t random() override {
    return random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
  }
  void advance_to(uint64_t now_ns) {
    now_ns_ = now_ns;
    wheel_.advance(now_ns);
  }

 private:
  uint64_t now_ns_ = 1'000'000'000;
  uint64_t random_ = 1;
  TimerWheel wheel_{now_ns_};
};

struct Done final : coordinator::Continuation {
  void done(ErrorCode error) override {
    EXPECT_FALSE(result.has_value()) << "told twice";
    result = error;
  }
  std::optional<ErrorCode> result;
};

// Keeps what it was answered: the response's views are gone after the call.
struct Joined final : JoinWaiter {
  struct Member {
    std::string id;
    std::optional<std::string> instance_id;
    std::string metadata;
  };
  void answer(const proto::JoinGroupResponse& response) override {
    EXPECT_FALSE(answered) << "answered twice";
    answered = true;
    error = static_cast<ErrorCode>(response.error_code);
    generation = response.generation_id;
    protocol_type = response.protocol_type.value_or("(null)");
    protocol = response.protocol_name.value_or("(null)");
    leader = response.leader;
    member_id = response.member_id;
    skip_assignment = response.skip_assignment;
    for (const auto& one : response.members) {
      Member member{std::string(one.member_id), {}, std::string(as_text(one.metadata))};
      if (one.group_instance_id) member.instance_id = std::string(*one.group_instance_id);
      members.push_back(std::move(member));
    }
  }
  bool answered = false;
  ErrorCode error = ErrorCode::kNone;
  int32_t generation = 0;
  std::string protocol_type, protocol, leader, member_id;
  bool skip_assignment = false;
  std::vector<Member> members;
};

struct Synced final : SyncWaiter {
  void answer(const proto::SyncGroupResponse& response) override {
    EXPECT_FALSE(answered) << "answered twice";
    answered = true;
    error = static_cast<ErrorCode>(response.error_code);
    assignment = as_text(response.assignment);
    protocol = response.protocol_name.value_or("(null)");
  }
  bool answered = false;
  ErrorCode error = ErrorCode::kNone;
  std::string assignment, protocol;
};

class CoordinatorTest : public testing::Test,
                        public coordinator::CoordinatorHost,
                        public coordinator::StateMachineFactory,
                        public TopicDirectory {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    if (runtime) runtime->unload(ErrorCode::kNotCoordinator);
  }

  // --- the broker's part ---
  void wants_flush(CoordinatorPartition&) override { flush_wanted = true; }
  void wants_reload(CoordinatorPartition&) override { reload_wanted = true; }
  std::unique_ptr<coordinator::StateMachine> make(coordinator::RecordWriter& writer) override {
    auto machine = std::make_unique<GroupCoordinator>(config, environment, writer, memory, *this);
    coordinator = machine.get();
    return machine;
  }
  bool exists(std::string_view name, Uuid id) const override {
    auto found = topics.find(name);
    return found != topics.end() && (id.is_zero() || id == found->second);
  }
  // A broker starts on the disk as it is; what was not committed is lost.
  void start() {
    runtime.reset();
    auto its_log = std::make_unique<FakeLog>(disk);
    log = its_log.get();
    runtime = std::make_unique<CoordinatorPartition>(*this, environment, *this, std::move(its_log),
                                                     write_options);
    load();
  }
  void load() {
    reload_wanted = false;
    ASSERT_TRUE(runtime->start_loading());
    size_t budget = SIZE_MAX;
    while (!runtime->load_slice(budget)) {
    }
  }
  void end_turn() {
    if (std::exchange(flush_wanted, false)) runtime->flush();
  }
  void commit() {
    end_turn();
    log->commit();
  }
  void pass_ms(int64_t ms) {
    uint64_t target = environment.now_ns() + static_cast<uint64_t>(ms) * 1'000'000;
    while (environment.now_ns() < target) {
      environment.advance_to(std::min(target, environment.now_ns() + 1'000'000));
      end_turn();
    }
  }

  ClassicGroups& groups() { return coordinator->groups(); }
  GroupState state(std::string_view id = "g") {
    ClassicGroup* group = groups().find(id);
    return group == nullptr ? GroupState::kDead : group->state();
  }

  GroupConfig config;
  coordinator::WriteOptions write_options;
  MemoryGauge memory{size_t{1} << 30};
  std::map<std::string, Uuid, std::less<>> topics{{"t", Uuid()}, {"u", Uuid()}};
  ManualEnvironment environment;
  Disk disk;
  std::unique_ptr<CoordinatorPartition> runtime;
  FakeLog* log = nullptr;
  GroupCoordinator* coordinator = nullptr;
  bool flush_wanted = false;
  bool reload_wanted = false;
};

}  // namespace pelton::broker::group
