#include "reactor/helper_threads.h"

#include <system_error>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace pelton {
namespace {

// A helper gets a third of a core that a shard wants too.
constexpr int kNice = 5;
// Without threads a job begins within this time.
constexpr uint64_t kLongestDelayNs = 5'000'000;

}  // namespace

HelperThreads::HelperThreads(const Options& options, MakeContext make_context)
    : options_(options), make_context_(make_context) {}

HelperThreads::~HelperThreads() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool HelperThreads::submit(Shard& home, HelperJob& job, size_t bytes) {
  job.home_ = &home;
  job.bytes_ = bytes;
  if (options_.threads == 0) {
    job.helpers_ = this;
    uint64_t delay = home.io().random() % kLongestDelayNs;
    home.loop().timers().start(job.delay_, home.loop().now_ns() + delay);
    return true;
  }
  {
    std::lock_guard lock(mutex_);
    if (waiting_count_ >= options_.queue_limit || !start_threads()) return false;
    waiting_.push_back(job);
    ++waiting_count_;
  }
  changed_.notify_one();
  return true;
}

// One that could not be started is tried again with the next job.
bool HelperThreads::start_threads() {
  while (threads_.size() < static_cast<size_t>(options_.threads)) {
    try {
      threads_.emplace_back([this, context = make_context_(stopping_)] { run(*context); });
    } catch (const std::system_error&) {
      break;
    }
  }
  return !threads_.empty();
}

void HelperThreads::release(size_t bytes) {
  if (options_.threads == 0 || bytes == 0) return;
  {
    std::lock_guard lock(mutex_);
    reserved_ -= bytes;
  }
  changed_.notify_one();
}

bool HelperThreads::may_begin() const {
  if (waiting_.empty()) return false;
  return reserved_ == 0 || reserved_ + waiting_.front().bytes_ <= options_.byte_limit;
}

void HelperThreads::run(HelperContext& context) {
  ::pthread_setname_np(::pthread_self(), "helper");
  // Where it is forbidden the helper competes as an equal: slower shards, nothing wrong.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || may_begin(); });
    if (ending_) return;
    HelperJob& job = waiting_.front();
    waiting_.pop_front();
    --waiting_count_;
    reserved_ += job.bytes_;
    if (may_begin()) changed_.notify_one();
    lock.unlock();
    job.work_(job.owner_, context);
    job.home_->send_from_outside(job.message_);
    lock.lock();
  }
}

HelperContext& HelperThreads::own_context() {
  if (own_context_ == nullptr) own_context_ = make_context_(stopping_);
  return *own_context_;
}

void HelperJob::run_here() {
  work_(owner_, helpers_->own_context());
  done_(owner_, *home_);
}

}  // namespace pelton
