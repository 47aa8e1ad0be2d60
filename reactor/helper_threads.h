// HelperThreads: one or two threads of the process for computing that would hold a shard too long, such as
// compressing a large batch. A job is embedded in what needs it; its end comes home as a message.
//
// Owner: whoever makes the shards; destroyed before them and after their loops have ended. submit() and
// release() may be called from any shard's thread. The threads start with the first job and yield to the
// shards (a higher nice value).
// Invariants: jobs begin in the order in which they were submitted, whatever their shards, so that a job
// never waits for a later one. At most queue_limit jobs wait. The bytes that begun jobs reserved and that
// were not released stay below byte_limit, except that one job alone may pass it.
// With no threads (simulation: one thread for everything) a job runs on its shard's loop after a random
// time, so that jobs end in any order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "reactor/shard.h"
#include "reactor/timer_wheel.h"

namespace pelton {

class HelperThreads;

// What one helper keeps between jobs: working memory. Made on the thread that submits first.
class HelperContext {
 public:
  virtual ~HelperContext() = default;
};

struct HelperTag;
class HelperJob : public ListHook<HelperTag> {
 public:
  // work: on a helper; touches nothing but what belongs to the job. done: on the shard that submitted it.
  template <auto Work, auto Done, class Owner>
  static HelperJob bind(Owner* owner) {
    return HelperJob(
        owner, [](void* self, HelperContext& context) { (static_cast<Owner*>(self)->*Work)(context); },
        [](void* self, Shard& here) { (static_cast<Owner*>(self)->*Done)(here); });
  }
  HelperJob(const HelperJob& other) : HelperJob(other.owner_, other.work_, other.done_) {}
  HelperJob& operator=(const HelperJob&) = delete;

 private:
  friend class HelperThreads;
  using Work = void (*)(void* owner, HelperContext& context);
  using Done = void (*)(void* owner, Shard& here);
  HelperJob(void* owner, Work work, Done done)
      : owner_(owner),
        work_(work),
        done_(done),
        message_(Message::bind<&HelperJob::arrived>(this)),
        delay_(Timer::bind<&HelperJob::run_here>(this)) {}

  void arrived(Shard& here) { done_(owner_, here); }
  void run_here();

  void* owner_;
  Work work_;
  Done done_;
  size_t bytes_ = 0;
  Shard* home_ = nullptr;
  HelperThreads* helpers_ = nullptr;
  Message message_;
  Timer delay_;  // without threads only
};

class HelperThreads {
 public:
  struct Options {
    int threads = 1;
    size_t queue_limit = 1'024;
    size_t byte_limit = size_t{64} << 20;
  };
  using MakeContext = std::unique_ptr<HelperContext> (*)(const std::atomic<bool>& stopping);

  HelperThreads(const Options& options, MakeContext make_context);
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;
  // Ends after the jobs under way; those that wait are dropped.
  ~HelperThreads();

  // Reserves `bytes`, for the job's result, before it begins. False: too many wait (or no thread can be
  // had), and the job was not taken.
  bool submit(Shard& home, HelperJob& job, size_t bytes);
  void release(size_t bytes);
  // Contexts are told to end their work early, for ever.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

 private:
  friend class HelperJob;
  bool start_threads();
  void run(HelperContext& context);
  bool may_begin() const;
  HelperContext& own_context();

  const Options options_;
  const MakeContext make_context_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  IntrusiveList<HelperJob, HelperTag> waiting_;
  size_t waiting_count_ = 0;
  size_t reserved_ = 0;
  bool ending_ = false;
  std::unique_ptr<HelperContext> own_context_;  // without threads
  std::vector<std::thread> threads_;
};

}  // namespace pelton
