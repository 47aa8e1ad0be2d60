#include "broker/net/request_memory.h"

namespace pelton::broker {

void RequestMemory::charge(size_t& charged, size_t bytes) {
  used_ += bytes;
  used_ -= charged;
  charged = bytes;
  // All of them, as BufferPool does: who finds it short again lines up again.
  while (!waiters_.empty() && !is_short()) {
    BufferWaiter& next = waiters_.front();
    waiters_.pop_front();
    loop_.post(next.retry);
  }
}

}  // namespace pelton::broker
