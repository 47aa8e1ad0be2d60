#include "reactor/posix_sockets.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <unistd.h>

namespace pelton {

std::string SocketAddress::to_string() const {
  bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

namespace posix {
namespace {

// The longest count one sendfile call takes.
constexpr size_t kMaxSendfile = 0x7ffff000;

struct RawAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_in& v4() { return reinterpret_cast<sockaddr_in&>(storage); }
  sockaddr_in6& v6() { return reinterpret_cast<sockaddr_in6&>(storage); }
};

RawAddress any_v4(uint16_t port) {
  RawAddress raw;
  raw.v4().sin_family = AF_INET;
  raw.v4().sin_port = htons(port);
  raw.length = sizeof(sockaddr_in);
  return raw;
}

RawAddress any_v6(uint16_t port) {
  RawAddress raw;
  raw.v6().sin6_family = AF_INET6;
  raw.v6().sin6_port = htons(port);
  raw.length = sizeof(sockaddr_in6);
  return raw;
}

Result<RawAddress> parse(const SocketAddress& address) {
  RawAddress raw = any_v4(address.port);
  if (::inet_pton(AF_INET, address.host.c_str(), &raw.v4().sin_addr) == 1) return raw;
  raw = any_v6(address.port);
  if (::inet_pton(AF_INET6, address.host.c_str(), &raw.v6().sin6_addr) == 1) return raw;
  return sys_error(EINVAL);
}

Result<SocketAddress> to_address(RawAddress& raw) {
  char text[INET6_ADDRSTRLEN];
  if (raw.storage.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &raw.v4().sin_addr, text, sizeof text);
    return SocketAddress{text, ntohs(raw.v4().sin_port)};
  }
  if (raw.storage.ss_family != AF_INET6) return sys_error(EAFNOSUPPORT);
  const in6_addr& v6 = raw.v6().sin6_addr;
  // An IPv4 peer of a dual-stack listener is shown as IPv4.
  if (IN6_IS_ADDR_V4MAPPED(&v6))
    ::inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &v6, text, sizeof text);
  return SocketAddress{text, ntohs(raw.v6().sin6_port)};
}

bool set_option(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// A shared port must be shared from the first socket on. When the kernel is to pick one, though, it must
// not pick one that strangers share: sharing starts after that.
bool bind_shared(int fd, RawAddress& raw, bool port_is_given) {
  auto share = [fd] { return set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1); };
  if (!port_is_given) return ::bind(fd, raw.get(), raw.length) == 0 && share();
  return set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) && share() &&
         ::bind(fd, raw.get(), raw.length) == 0;
}

Result<SocketFd> listen_raw(RawAddress raw, bool port_is_given, int backlog, ListenerMode mode,
                            bool dual_stack) {
  int type = SOCK_STREAM | SOCK_CLOEXEC | (mode == ListenerMode::kNonBlocking ? SOCK_NONBLOCK : 0);
  int fd = ::socket(raw.storage.ss_family, type, 0);
  if (fd < 0) return last_sys_error();
  bool v6 = raw.storage.ss_family == AF_INET6;
  bool ready = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
               (!v6 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual_stack ? 0 : 1)) &&
               bind_shared(fd, raw, port_is_given) && ::listen(fd, backlog) == 0;
  if (ready) return fd;
  int error = errno;
  ::close(fd);
  return sys_error(error);
}

}  // namespace

Result<SocketFd> listen(const SocketAddress& address, int backlog, ListenerMode mode) {
  bool port_is_given = address.port != 0;
  if (!address.host.empty()) {
    Result<RawAddress> raw = parse(address);
    if (!raw) return std::unexpected(raw.error());
    return listen_raw(*raw, port_is_given, backlog, mode, false);
  }
  Result<SocketFd> both = listen_raw(any_v6(address.port), port_is_given, backlog, mode, true);
  bool no_v6 = !both && (both.error().code == EAFNOSUPPORT || both.error().code == EADDRNOTAVAIL);
  return no_v6 ? listen_raw(any_v4(address.port), port_is_given, backlog, mode, false) : both;
}

Status check_free(const SocketAddress& address) {
  if (address.port == 0) return {};
  bool any = address.host.empty();
  Result<RawAddress> raw = any ? Result<RawAddress>(any_v6(address.port)) : parse(address);
  if (!raw) return std::unexpected(raw.error());
  int fd = ::socket(raw->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 && any) return {};  // no IPv6 here; the listener's own bind will tell
  if (fd < 0) return last_sys_error();
  if (any) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  // As a listener binds, but for the sharing; connections in TIME_WAIT are no hindrance.
  bool free = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
              ::bind(fd, raw->get(), raw->length) == 0;
  int error = errno;
  ::close(fd);
  return free ? Status{} : sys_error(error);
}

Status wait_free(const SocketAddress& address, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{2};
  auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    Status free = check_free(address);
    if (free || free.error().code != EADDRINUSE || std::chrono::steady_clock::now() >= end) return free;
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::string, std::string> look_up(const std::string& host) {
  if (host.empty()) return host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return std::unexpected(error == EAI_SYSTEM ? to_string(SysError{errno}) : gai_strerror(error));
  std::string address;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (address.empty() || one->ai_family == AF_INET) address = text;
    if (one->ai_family == AF_INET) break;
  }
  freeaddrinfo(found);
  if (address.empty()) return std::unexpected(std::string("it has no address"));
  return address;
}

Result<SocketAddress> local_address(SocketFd socket) {
  RawAddress raw;
  raw.length = sizeof raw.storage;
  if (::getsockname(socket, raw.get(), &raw.length) != 0) return last_sys_error();
  return to_address(raw);
}

Result<SocketAddress> peer_address(SocketFd socket) {
  RawAddress raw;
  raw.length = sizeof raw.storage;
  if (::getpeername(socket, raw.get(), &raw.length) != 0) return last_sys_error();
  return to_address(raw);
}

void set_buffer_sizes(SocketFd socket, int send_bytes, int receive_bytes) {
  // Hints: the kernel clips them to its own limits.
  if (send_bytes > 0) set_option(socket, SOL_SOCKET, SO_SNDBUF, send_bytes);
  if (receive_bytes > 0) set_option(socket, SOL_SOCKET, SO_RCVBUF, receive_bytes);
}

int64_t try_send(SocketFd socket, const iovec* pieces, int count, bool more) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<size_t>(count);
  int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  while (true) {
    ssize_t sent = ::sendmsg(socket, &message, flags);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

int64_t try_sendfile(SocketFd socket, FileFd file, uint64_t position, size_t length) {
  auto offset = static_cast<off_t>(position);
  while (true) {
    ssize_t sent = ::sendfile(socket, file, &offset, std::min(length, kMaxSendfile));
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

void ignore_sigpipe() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

uint64_t monotonic_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

int64_t wall_ms() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

uint64_t entropy() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = monotonic_ns();
  return seed;
}

}  // namespace posix
}  // namespace pelton
