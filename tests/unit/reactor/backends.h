// The backends of Io on a real kernel, for suites that all of them must pass, and the other end of a
// connection: a plain blocking client.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/loop.h"
#include "reactor/uring_io.h"
#include "tests/support/poll_io.h"

namespace pelton::test {

inline std::unique_ptr<Io> make_uring(UringOptions options) {
  options.receive_buffers = PollIo::kBuffers;  // few, so that tests can exhaust them
  auto io = UringIo::create(options);
  CHECK(io.has_value());
  return std::move(*io);
}

struct Backend {
  const char* name;
  std::unique_ptr<Io> (*make)();
};

inline const Backend kBackends[] = {
    {"Uring", [] { return make_uring({}); }},
    // Without cachestat, and with queues that overflow at once.
    {"TinyUring",
     [] {
       UringOptions options;
       options.force_cache_probe = true;
       options.sq_entries = 2;
       options.cq_entries = 4;
       return make_uring(options);
     }},
    {"Poll", []() -> std::unique_ptr<Io> { return std::make_unique<PollIo>(); }},
};

inline std::string name_of(const testing::TestParamInfo<Backend>& info) { return info.param.name; }
// How a failed test shows its backend.
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

// A blocking client with a time limit on everything.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int small = 64 * 1024;  // full soon
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int failed = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to);
    CHECK(failed == 0, ::strerrorname_np(errno));
    // Not before: with a limit, a stopped and continued process gets EINTR from connect.
    timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(); }

  int fd() const { return fd_; }
  void send(std::string_view text) {
    while (!text.empty()) {
      ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      CHECK(sent > 0 || errno == EINTR, ::strerrorname_np(errno));
      if (sent > 0) text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // What is there without waiting.
  std::string take(size_t most) {
    std::string text(most, '\0');
    ssize_t got = ::recv(fd_, text.data(), most, MSG_DONTWAIT);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  // Waits for `count` bytes, or fewer when the other end finishes.
  std::string receive(size_t count) {
    std::string text(count, '\0');
    size_t have = 0;
    while (have < count) {
      ssize_t got = ::recv(fd_, text.data() + have, count - have, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    text.resize(have);
    return text;
  }
  // Ends with a reset instead of a proper end.
  void reset() {
    linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// Notes the results of one kind of operation.
struct Results {
  void note(int32_t result) { list.push_back(result); }
  Completion completion() { return Completion::bind<&Results::note>(this); }
  bool empty() const { return list.empty(); }
  int32_t last() const { return list.back(); }
  std::vector<int32_t> list;
};

}  // namespace pelton::test
