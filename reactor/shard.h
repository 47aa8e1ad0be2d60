// Shards: one pinned thread, one loop, one Io each; they share no mutable state and talk by messages.
//
// A Message is embedded in the object that travels (a request, a part of a fetch): sending costs no
// allocation. Ownership of that object's memory travels with the message; the receiver may read and
// write it until it sends it on. Order between one pair of shards is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "reactor/base/intrusive_list.h"
#include "reactor/loop.h"

namespace pelton {

using ShardId = uint16_t;

class Shard;

struct OverflowTag;
class Message : public ListHook<OverflowTag> {
 public:
  // Calls (owner->*Method)(Shard& here) on the receiving shard.
  template <auto Method, class Owner>
  static Message bind(Owner* owner) {
    return Message(owner, [](void* self, Shard& here) { (static_cast<Owner*>(self)->*Method)(here); });
  }
  Message(const Message& other) : owner_(other.owner_), deliver_(other.deliver_) {}
  Message& operator=(const Message&) = delete;

  void deliver(Shard& here) { deliver_(owner_, here); }

 private:
  friend class Shard;
  using Deliver = void (*)(void* owner, Shard& here);
  Message(void* owner, Deliver function) : owner_(owner), deliver_(function) {}
  void* owner_;
  Deliver deliver_;
  Message* next_outside_ = nullptr;  // while it waits in a shard's stack of messages from outside
};

class Mailboxes;  // the single-producer single-consumer rings of all pairs (mailbox.h)

class Shard {
 public:
  Shard(ShardId id, Io& io, Mailboxes& mailboxes, bool shuffle = false);
  ~Shard();

  ShardId id() const { return id_; }
  ShardId count() const;
  Loop& loop() { return loop_; }
  Io& io() { return loop_.io(); }

  // Delivers `message` on shard `to`, never inside this call; to itself: at its next mail step. A full
  // ring keeps the message in a local overflow list, sent at the end of a later turn in order.
  void send(ShardId to, Message& message);

  // The same from a thread that is no shard (a signal's, a helper's); any number of threads and messages,
  // delivered in the order of the calls. The message must not be under way already.
  void send_from_outside(Message& message);

  // Messages sent to other shards since the start.
  uint64_t messages_sent() const { return messages_sent_; }

  // The application's state of this shard. Not owned.
  void set_context(void* context) { context_ = context; }
  template <class T>
  T& context() {
    return *static_cast<T*>(context_);
  }

 private:
  bool deliver_mail();
  bool deliver_from_outside();
  bool may_wait();
  bool has_overflow() const;
  void flush_overflow();

  ShardId id_;
  Loop loop_;
  Mailboxes& mailboxes_;
  void* context_ = nullptr;
  uint64_t messages_sent_ = 0;
  std::atomic<Message*> outside_{nullptr};  // the newest first
  std::vector<IntrusiveList<Message, OverflowTag>> overflow_;
  IntrusiveList<Message, OverflowTag> to_self_;
  TurnEnd overflow_end_;
};

// Runs each shard's loop on a thread of its own, pinned to a core, named "shard-<id>" (start), and
// joins them (join). Used by the broker; simulation turns the loops itself.
class ShardThreads {
 public:
  // With `pin` the cores of the process's affinity mask are taken round robin.
  static Status start(std::vector<Shard*> shards, bool pin, std::unique_ptr<ShardThreads>& out);
  void join();
  ~ShardThreads();

 private:
  struct Threads;
  explicit ShardThreads(std::unique_ptr<Threads> threads);
  std::unique_ptr<Threads> threads_;
};

}  // namespace pelton
