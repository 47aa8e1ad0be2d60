// Completion: the end of one pending operation, embedded in the object that waits for it, so that an
// operation costs no allocation.
//
// Owner shard: that of the loop it is queued on. Lifetime: the owner must outlive it while it is
// pending; destroying a pending completion is a bug (CHECK), since the kernel may still write into
// the owner's buffers. Invariant: it runs from the loop's run queue, exactly once for each start,
// never inside the call that started the operation and never inside the drain of the ring.
#pragma once

#include <cstdint>

#include "reactor/base/check.h"
#include "reactor/base/intrusive_list.h"

namespace pelton {

struct ReadyTag;

class Completion : public ListHook<ReadyTag> {
 public:
  // Calls (owner->*Method)(result) when it runs:
  //   Completion recv_done_ = Completion::bind<&Connection::on_received>(this);
  template <auto Method, class Owner>
  static Completion bind(Owner* owner) {
    return Completion(owner, [](void* self, int32_t result) {
      (static_cast<Owner*>(self)->*Method)(result);
    });
  }

  Completion(const Completion& other) : owner_(other.owner_), run_(other.run_) {
    CHECK(!other.pending_, "a pending completion does not move");
  }
  Completion& operator=(const Completion&) = delete;
  ~Completion() { CHECK(!pending_, "completion destroyed while its operation is pending"); }

  bool pending() const { return pending_; }

  // --- for Io and Loop ---
  void mark_started() {
    CHECK(!pending_, "operation started twice");
    pending_ = true;
  }
  // result: >= 0 the operation's count, < 0 a negated errno.
  void set_result(int32_t result) { result_ = result; }
  int32_t result() const { return result_; }
  void run() {
    pending_ = false;
    run_(owner_, result_);
  }

 private:
  using Run = void (*)(void* owner, int32_t result);
  Completion(void* owner, Run function) : owner_(owner), run_(function) {}

  void* owner_;
  Run run_;
  int32_t result_ = 0;
  bool pending_ = false;
};

using ReadyList = IntrusiveList<Completion, ReadyTag>;

}  // namespace pelton
