// Blocking loopback sockets, clocks and the end of a failed program, for the bench's own small
// programs. A program that cannot go on prints why and exits with 1: there is nobody to recover
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "reactor/base/bytes.h"

namespace pelton::bench {

// Prints `what`, and errno's text when it is set, and exits.
[[noreturn]] void fail(std::string_view what);

int64_t monotonic_ns();
// CPU of the calling thread, user and kernel.
int64_t thread_cpu_ns();
// Of all threads of another process, those that have ended too.
int64_t process_cpu_ns(int64_t pid);
int64_t process_rss_bytes(int64_t pid);
// As many descriptors as the system allows this process.
void raise_descriptor_limit();

// Owns a descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Listens on a free port of 127.0.0.1.
Fd listen_loopback(uint16_t& port);
Fd accept_one(const Fd& listener);
// An invalid Fd when nobody listens. `receive_buffer` 0 leaves the kernel's tuning on.
Fd try_connect_loopback(uint16_t port, int receive_buffer = 0);
Fd connect_loopback(uint16_t port, int receive_buffer = 0);

void send_all(const Fd& socket, Bytes bytes, int flags = 0);
// False when the peer closed before the first byte; a close in the middle fails.
bool receive_exact(const Fd& socket, MutableBytes into);
// Reads and forgets `count` bytes through `scratch`.
void receive_and_drop(const Fd& socket, size_t count, MutableBytes scratch);

}  // namespace pelton::bench
