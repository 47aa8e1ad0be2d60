#include "bench/load/sockets.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

namespace pelton::bench {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void set_no_delay(int fd) {
  int on = 1;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
}

}  // namespace

void fail(std::string_view what) {
  if (errno != 0)
    fmt::print(stderr, "{}: {}\n", what, std::strerror(errno));
  else
    fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
int64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

int64_t process_cpu_ns(int64_t pid) {
  clockid_t clock;
  errno = ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock);
  if (errno != 0) fail(fmt::format("process {}", pid));
  return clock_ns(clock);
}

int64_t process_rss_bytes(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  int64_t total = 0, resident = 0;
  errno = 0;
  if (!(file >> total >> resident)) fail(fmt::format("no process {}", pid));
  return resident * ::sysconf(_SC_PAGESIZE);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("RLIMIT_NOFILE");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("RLIMIT_NOFILE");
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Fd listen_loopback(uint16_t& port) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.valid()) fail("socket");
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1024) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0)
    fail("listen on 127.0.0.1");
  port = ntohs(address.sin_port);
  return listener;
}

Fd accept_one(const Fd& listener) {
  Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) fail("accept");
  set_no_delay(socket.get());
  return socket;
}

Fd try_connect_loopback(uint16_t port, int receive_buffer) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) fail("socket");
  // Before the connect: the window scale is agreed on there.
  if (receive_buffer > 0 && ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                                         sizeof receive_buffer) != 0)
    fail("SO_RCVBUF");
  sockaddr_in to = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return {};
  set_no_delay(socket.get());
  return socket;
}

Fd connect_loopback(uint16_t port, int receive_buffer) {
  Fd socket = try_connect_loopback(port, receive_buffer);
  if (!socket.valid()) fail(fmt::format("connect to 127.0.0.1:{}", port));
  return socket;
}

void send_all(const Fd& socket, Bytes bytes, int flags) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail("send");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
}

bool receive_exact(const Fd& socket, MutableBytes into) {
  size_t wanted = into.size();
  while (!into.empty()) {
    ssize_t got = ::recv(socket.get(), into.data(), into.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 && into.size() == wanted) return false;
    if (got <= 0) fail("recv");
    into = into.subspan(static_cast<size_t>(got));
  }
  return true;
}

void receive_and_drop(const Fd& socket, size_t count, MutableBytes scratch) {
  while (count > 0) {
    ssize_t got = ::recv(socket.get(), scratch.data(), std::min(count, scratch.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("recv");
    count -= static_cast<size_t>(got);
  }
}

}  // namespace pelton::bench
