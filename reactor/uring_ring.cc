#include "reactor/uring_ring.h"

#include "reactor/base/check.h"
#include "reactor/posix_sockets.h"

namespace pelton {
namespace {

// Entries handled in one poll, so that a flood of completions cannot hold a turn.
constexpr unsigned kDrainBudget = 2048;
// Kernels from 6.13 hand out at most 20 deferred completions in one call and do not flag the rest.
constexpr unsigned kKernelBatch = 16;

}  // namespace

UringRing::~UringRing() {
  if (!has_ring_) return;
  // When another thread used the ring this is refused; that thread's end has cancelled everything.
  io_uring_sync_cancel_reg all{};
  all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
  all.timeout = {-1, -1};
  if (enabled_) io_uring_register_sync_cancel(&ring_, &all);
  io_uring_queue_exit(&ring_);
}

Result<void, std::string> UringRing::set_up(unsigned sq_entries, unsigned cq_entries,
                                            const HostFacts& facts) {
  if (auto made = set_up_ring(ring_, sq_entries, cq_entries, facts); !made) return made;
  has_ring_ = true;
  return {};
}

void UringRing::enable(unsigned file_workers, unsigned other_workers) {
  // liburing 2.3 declares io_uring_enable_rings but does not export it.
  int result = io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_ENABLE_RINGS,
                                 nullptr, 0);
  CHECK(result == 0, "a ring that could be made can be enabled");
  unsigned workers[2] = {file_workers, other_workers};
  io_uring_register_iowq_max_workers(&ring_, workers);
  enabled_ = true;
}

io_uring_sqe& UringRing::next() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe != nullptr) return *sqe;
  CHECK(enabled_, "more operations before the first poll than the queue holds");
  io_uring_submit(&ring_);
  sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    // The kernel refuses entries while completions overflow: take those, then try once more.
    drain();
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  CHECK(sqe != nullptr, "the submission queue does not empty");
  return *sqe;
}

void UringRing::poll(std::optional<uint64_t> deadline_ns) {
  enter(deadline_ns);
  drain();
}

bool UringRing::kernel_has_more() const {
  unsigned flags = IO_URING_READ_ONCE(*ring_.sq.kflags);
  return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

void UringRing::enter(std::optional<uint64_t> deadline_ns) {
  uint64_t now = deadline_ns && *deadline_ns > 0 ? posix::monotonic_ns() : 0;
  int result = 0;
  if (deadline_ns && *deadline_ns <= now) {
    // A turn with work at hand and nothing to say costs no system call.
    if (io_uring_sq_ready(&ring_) > 0 || maybe_more_ || kernel_has_more())
      result = io_uring_submit_and_get_events(&ring_);
  } else {
    io_uring_cqe* first = nullptr;
    __kernel_timespec wait{};
    if (deadline_ns) {
      wait.tv_sec = static_cast<int64_t>((*deadline_ns - now) / 1'000'000'000);
      wait.tv_nsec = static_cast<int64_t>((*deadline_ns - now) % 1'000'000'000);
    }
    result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, deadline_ns ? &wait : nullptr,
                                              nullptr);
  }
  // Busy or short of memory: what was not submitted stays queued for the next turn.
  CHECK(result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN,
        "io_uring_enter");
}

// Ends when asking again gave nothing, whatever the flags say: the kernel queues deferred work first
// and raises IORING_SQ_TASKRUN after that, so the flag of work that was just taken may be raised late,
// and then stays up until there is new work.
void UringRing::drain() {
  bool asked = false;
  for (unsigned handled = 0; handled < kDrainBudget;) {
    unsigned head;
    unsigned count = 0;
    io_uring_cqe* cqe;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      on_ended_(owner_, *cqe);
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    handled += count;
    maybe_more_ = count >= kKernelBatch;
    if (!maybe_more_ && !kernel_has_more()) return;
    if (asked && count == 0) return;
    asked = true;
    io_uring_get_events(&ring_);
  }
}

}  // namespace pelton
