// UringRing: the ring of one UringIo: entries to submit, the one call that submits and waits, and the
// entries that ended.
//
// Owner shard: created anywhere, then used by one thread alone, the one that enables it; before that, fewer
// entries than the submission queue holds. Lifetime: a part of its Io.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <liburing.h>

#include "reactor/base/result.h"
#include "reactor/uring_setup.h"

namespace pelton {

class UringRing {
 public:
  // Told of each entry that ended: from poll(), and from next() when the kernel takes no more before that.
  using OnEnded = void (*)(void* owner, const io_uring_cqe& entry);

  UringRing(void* owner, OnEnded on_ended) : owner_(owner), on_ended_(on_ended) {}
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  // Cancels what is pending.
  ~UringRing();

  // The error is one line for the operator.
  Result<void, std::string> set_up(unsigned sq_entries, unsigned cq_entries, const HostFacts& facts);
  // On the thread that owns the ring from now on: single issuer and worker limits belong to a thread.
  void enable(unsigned file_workers, unsigned other_workers);
  bool enabled() const { return enabled_; }

  // A fresh entry; it goes to the kernel with the next poll().
  io_uring_sqe& next();
  // Submits, waits until something ends or `deadline_ns` passes (nullopt = no deadline; in the past = do not
  // wait), and tells of what ended.
  void poll(std::optional<uint64_t> deadline_ns);

  io_uring& raw() { return ring_; }

 private:
  void enter(std::optional<uint64_t> deadline_ns);
  bool kernel_has_more() const;
  void drain();

  void* owner_;
  OnEnded on_ended_;
  io_uring ring_{};
  bool has_ring_ = false;
  bool enabled_ = false;
  bool maybe_more_ = false;  // the last batch was as large as the kernel hands out at once
};

}  // namespace pelton
