// Round trip of a small message over loopback: a server on our loop against the plainest epoll server,
// with the same blocking client.
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "reactor/loop.h"
#include "reactor/posix_sockets.h"
#include "reactor/uring_io.h"

namespace pelton {
namespace {

constexpr size_t kMessage = 64;

class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Client() { ::close(fd_); }
  void send() { CHECK(::send(fd_, message_.data(), kMessage, 0) == kMessage); }
  void receive() { CHECK(::recv(fd_, message_.data(), kMessage, MSG_WAITALL) == kMessage); }

 private:
  int fd_;
  std::array<char, kMessage> message_{};
};

// One connection of the server on our loop.
struct EchoConnection {
  EchoConnection(Io& with, SocketFd fd) : io(with), socket(fd) { io.recv(socket, recv); }
  void on_received(int32_t result) {
    if (result <= 0) {
      io.close(socket);
      return;
    }
    piece = {recv.lease.data, recv.lease.size};
    send.pieces = &piece;
    send.count = 1;
    io.send(socket, send);
    lease = recv.lease;
    io.recv(socket, recv);
  }
  void on_sent(int32_t) { io.release(lease); }
  Io& io;
  SocketFd socket;
  RecvOp recv{Completion::bind<&EchoConnection::on_received>(this)};
  SendOp send{Completion::bind<&EchoConnection::on_sent>(this)};
  iovec piece{};
  Lease lease;
};

class UringEcho {
 public:
  UringEcho() : io_(std::move(UringIo::create().value())), loop_(*io_) {
    listener_ = io_->listen({"127.0.0.1", 0}, 16).value();
    port_ = io_->local_address(listener_)->port;
    thread_ = std::thread([this] { run(); });
  }
  ~UringEcho() {
    stop_ = true;
    io_->wake();
    thread_.join();
    io_->close(listener_);
  }
  uint16_t port() const { return port_; }

 private:
  void run() {
    io_->accept(listener_, accept_);
    while (!stop_.load(std::memory_order_relaxed)) loop_.run_turn(true);
    io_->stop_accept(accept_);
    while (accept_.done.pending()) loop_.run_turn(true);
  }
  void on_accepted(int32_t socket) {
    if (socket >= 0) connections_.push_back(std::make_unique<EchoConnection>(*io_, socket));
  }

  std::unique_ptr<UringIo> io_;
  Loop loop_;
  SocketFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  AcceptOp accept_{Completion::bind<&UringEcho::on_accepted>(this)};
  std::vector<std::unique_ptr<EchoConnection>> connections_;
  std::thread thread_;
};

class EpollEcho {
 public:
  EpollEcho() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
    listener_ = posix::listen({"127.0.0.1", 0}, 16, posix::ListenerMode::kNonBlocking).value();
    port_ = posix::local_address(listener_)->port;
    watch(listener_);
    watch(stop_);
    thread_ = std::thread([this] { run(); });
  }
  ~EpollEcho() {
    uint64_t one = 1;
    CHECK(::write(stop_, &one, sizeof one) == sizeof one);
    thread_.join();
    for (int fd : {epoll_, stop_, listener_}) ::close(fd);
  }
  uint16_t port() const { return port_; }

 private:
  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  void run() {
    std::array<epoll_event, 64> events;
    while (true) {
      int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        int fd = events[static_cast<size_t>(i)].data.fd;
        if (fd == stop_) return;
        if (fd == listener_)
          watch(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        else
          echo(fd);
      }
    }
  }
  static void echo(int fd) {
    char buffer[16384];
    ssize_t got = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
      CHECK(::send(fd, buffer, static_cast<size_t>(got), MSG_NOSIGNAL) == got);
    else
      ::close(fd);
  }

  int epoll_;
  int stop_;
  SocketFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

// Connections that have a message under way at the same time: 1 is the round trip.
template <class Server>
void echo(benchmark::State& state) {
  Server server;
  std::vector<std::unique_ptr<Client>> clients;
  for (int64_t i = 0; i < state.range(0); ++i)
    clients.push_back(std::make_unique<Client>(server.port()));
  for (auto _ : state) {
    for (auto& client : clients) client->send();
    for (auto& client : clients) client->receive();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(echo<UringEcho>)->Name("echo_our_loop")->Arg(1)->Arg(16)->UseRealTime();
BENCHMARK(echo<EpollEcho>)->Name("echo_epoll")->Arg(1)->Arg(16)->UseRealTime();

}  // namespace
}  // namespace pelton
