#include "reactor/shard.h"

#include <atomic>
#include <string>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "reactor/mailbox.h"

namespace pelton {
namespace {

// Messages taken from one sender in one turn, so that a busy sender does not starve the others.
constexpr int kMailBudget = 256;

}  // namespace

Shard::Shard(ShardId id, Io& io, Mailboxes& mailboxes, bool shuffle)
    : id_(id),
      loop_(io, shuffle),
      mailboxes_(mailboxes),
      overflow_(mailboxes.count()),
      overflow_end_(TurnEnd::bind<&Shard::flush_overflow>(this, kPhaseMail)) {
  mailboxes_.attach(id_, io);
  loop_.set_mail(
      this, [](void* self) { return static_cast<Shard*>(self)->deliver_mail(); },
      [](void* self) { return static_cast<Shard*>(self)->may_wait(); });
}

Shard::~Shard() = default;

ShardId Shard::count() const { return mailboxes_.count(); }

void Shard::send(ShardId to, Message& message) {
  CHECK(to < overflow_.size(), "no such shard");
  if (to == id_) {
    to_self_.push_back(message);
    return;
  }
  ++messages_sent_;
  // Behind what already waits, to keep the order.
  if (overflow_[to].empty() && mailboxes_.push(id_, to, message)) {
    mailboxes_.wake_if_asleep(to);
    return;
  }
  overflow_[to].push_back(message);
  loop_.at_turn_end(overflow_end_);
}

void Shard::send_from_outside(Message& message) {
  message.next_outside_ = outside_.load(std::memory_order_relaxed);
  while (!outside_.compare_exchange_weak(message.next_outside_, &message, std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
  }
  io().wake();
}

bool Shard::deliver_from_outside() {
  // A plain look first: the exchange would take the line away from a sender in every turn.
  if (outside_.load(std::memory_order_relaxed) == nullptr) return false;
  Message* in_order = nullptr;
  for (Message* newest = outside_.exchange(nullptr, std::memory_order_acq_rel); newest != nullptr;) {
    Message* older = newest->next_outside_;
    newest->next_outside_ = in_order;
    in_order = newest;
    newest = older;
  }
  while (in_order != nullptr) {
    Message& message = *in_order;
    in_order = message.next_outside_;
    message.deliver(*this);  // from here on it may be sent again, or be gone
  }
  return true;
}

bool Shard::deliver_mail() {
  mailboxes_.awake(id_);
  bool delivered = deliver_from_outside();
  IntrusiveList<Message, OverflowTag> own;
  own.swap(to_self_);
  while (!own.empty()) {
    Message& message = own.front();
    own.pop_front();
    message.deliver(*this);
    delivered = true;
  }
  for (ShardId from = 0; from < mailboxes_.count(); ++from) {
    for (int taken = 0; taken < kMailBudget; ++taken) {
      Message* message = mailboxes_.pop(from, id_);
      if (message == nullptr) break;
      message->deliver(*this);
      delivered = true;
    }
  }
  if (has_overflow()) loop_.at_turn_end(overflow_end_);
  return delivered;
}

bool Shard::has_overflow() const {
  for (const auto& waiting : overflow_)
    if (!waiting.empty()) return true;
  return false;
}

bool Shard::may_wait() {
  if (!to_self_.empty() || has_overflow()) return false;
  return mailboxes_.prepare_sleep(id_);
}

void Shard::flush_overflow() {
  for (ShardId to = 0; to < overflow_.size(); ++to) {
    auto& waiting = overflow_[to];
    bool pushed = false;
    while (!waiting.empty()) {
      // Unlinked first: once pushed it belongs to the other shard.
      Message& message = waiting.front();
      waiting.pop_front();
      if (!mailboxes_.push(id_, to, message)) {
        waiting.push_front(message);
        break;
      }
      pushed = true;
    }
    if (pushed) mailboxes_.wake_if_asleep(to);
  }
}

// ---------------------------------------------------------------- threads

struct ShardThreads::Threads {
  struct One {
    Threads* all;
    Shard* shard;
    int core;  // -1 = anywhere
    pthread_t handle{};
  };
  enum Gate { kShut, kOpen, kAbandoned };

  std::vector<One> list;
  // The threads wait here until all of them exist, so that a failed start leaves none running.
  std::atomic<int> gate{kShut};

  void open(Gate to) {
    gate.store(to, std::memory_order_release);
    gate.notify_all();
  }
  static void* run(void* argument);
};

namespace {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

void pin_to(pthread_t thread, int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  // Where it is forbidden the shard runs unpinned: slower, not wrong.
  (void)::pthread_setaffinity_np(thread, sizeof mask, &mask);
}

}  // namespace

void* ShardThreads::Threads::run(void* argument) {
  One& self = *static_cast<One*>(argument);
  ::pthread_setname_np(::pthread_self(), ("shard-" + std::to_string(self.shard->id())).c_str());
  if (self.core >= 0) pin_to(::pthread_self(), self.core);
  self.all->gate.wait(kShut, std::memory_order_acquire);
  if (self.all->gate.load(std::memory_order_acquire) == kOpen) self.shard->loop().run();
  return nullptr;
}

Status ShardThreads::start(std::vector<Shard*> shards, bool pin,
                           std::unique_ptr<ShardThreads>& out) {
  std::vector<int> cores = pin ? allowed_cores() : std::vector<int>{};
  auto threads = std::make_unique<Threads>();
  threads->list.reserve(shards.size());  // the threads keep pointers into it
  int failure = 0;
  for (Shard* shard : shards) {
    int core = cores.empty() ? -1 : cores[threads->list.size() % cores.size()];
    threads->list.push_back({threads.get(), shard, core});
    Threads::One& self = threads->list.back();
    failure = ::pthread_create(&self.handle, nullptr, &Threads::run, &self);
    if (failure == 0) continue;
    threads->list.pop_back();
    break;
  }
  threads->open(failure == 0 ? Threads::kOpen : Threads::kAbandoned);
  out.reset(new ShardThreads(std::move(threads)));
  if (failure == 0) return {};
  out.reset();
  return sys_error(failure);
}

void ShardThreads::join() {
  for (Threads::One& one : threads_->list) ::pthread_join(one.handle, nullptr);
  threads_->list.clear();
}

ShardThreads::ShardThreads(std::unique_ptr<Threads> threads) : threads_(std::move(threads)) {}

ShardThreads::~ShardThreads() { join(); }

}  // namespace pelton
