// One suite for every backend on a real kernel.
#include "reactor/io.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/unit/reactor/backends.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton {
namespace {

using test::Client;
using test::Results;

constexpr uint64_t kSecond = 1'000'000'000;

class IoTest : public testing::TestWithParam<test::Backend> {
 protected:
  ~IoTest() override {
    for (int fd : fds_) io_->close(fd);
  }

  // Turns the loop until `done`, or fails after 10 s.
  template <class Done>
  void turn_until(Done done) {
    uint64_t limit = io_->now_ns() + 10 * kSecond;
    while (!done()) {
      ASSERT_LT(io_->now_ns(), limit) << "nothing more happens";
      ReadyList ready;
      io_->poll(ready, io_->now_ns() + kSecond / 20);
      while (!ready.empty()) {
        Completion& completion = ready.front();
        ready.pop_front();
        completion.run();
      }
    }
  }

  // A connection: the client's end, and ours.
  struct Pair {
    std::unique_ptr<Client> client;
    SocketFd socket = -1;
  };

  SocketFd listen() {
    auto listener = io_->listen({"127.0.0.1", 0}, 128);
    CHECK(listener.has_value());
    fds_.push_back(*listener);
    return *listener;
  }
  uint16_t port_of(SocketFd socket) { return io_->local_address(socket)->port; }

  Pair connect() {
    SocketFd listener = listen();
    Results accepted;
    AcceptOp op(accepted.completion());
    io_->accept(listener, op);
    Pair pair{std::make_unique<Client>(port_of(listener)), -1};
    turn_until([&] { return !accepted.empty(); });
    pair.socket = accepted.last();
    CHECK(pair.socket >= 0);
    fds_.push_back(pair.socket);
    io_->stop_accept(op);
    turn_until([&] { return accepted.last() == -ECANCELED; });
    return pair;
  }

  std::string receive_some(SocketFd socket) {
    Results got;
    RecvOp op(got.completion());
    io_->recv(socket, op);
    turn_until([&] { return !got.empty(); });
    if (got.last() <= 0) return {};
    std::string text(reinterpret_cast<char*>(op.lease.data), op.lease.size);
    io_->release(op.lease);
    return text;
  }

  // Fills the socket until the kernel takes no more; returns how much it took.
  size_t fill(SocketFd socket) {
    std::string block(65536, 'f');
    iovec piece{block.data(), block.size()};
    size_t total = 0;
    while (true) {
      int64_t sent = io_->try_send(socket, &piece, 1, false);
      if (sent < 0) {
        EXPECT_EQ(sent, -EAGAIN);
        return total;
      }
      total += static_cast<size_t>(sent);
    }
  }

  FileFd make_file(const std::string& name, std::string text) {
    FileFd fd = io_->files().open(dir_ / name, OpenMode::kCreate).value();
    iovec piece{text.data(), text.size()};
    CHECK(io_->files().pwritev(fd, &piece, 1, 0).has_value());
    fds_.push_back(fd);
    return fd;
  }

  test::TempDir dir_;
  std::unique_ptr<Io> io_ = GetParam().make();
  std::vector<int> fds_;
};

INSTANTIATE_TEST_SUITE_P(Every, IoTest, testing::ValuesIn(test::kBackends), test::name_of);

TEST_P(IoTest, ClockAndRandomness) {
  uint64_t before = io_->now_ns();
  EXPECT_GE(io_->now_ns(), before);
  EXPECT_GT(io_->wall_ms(), 1'600'000'000'000);
  EXPECT_NE(io_->random(), io_->random());
}

TEST_P(IoTest, PollEndsAtItsDeadline) {
  ReadyList ready;
  io_->poll(ready, 0);
  uint64_t deadline = io_->now_ns() + 30'000'000;
  io_->poll(ready, deadline);
  EXPECT_GE(io_->now_ns() + 100'000, deadline);
  EXPECT_LT(io_->now_ns(), deadline + 5 * kSecond);
  EXPECT_TRUE(ready.empty());
}

TEST_P(IoTest, WakeEndsAnEndlessPoll) {
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> woke = false;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      woke = true;
      io_->wake();
    });
    ReadyList ready;
    while (!woke) io_->poll(ready, std::nullopt);
    other.join();
    EXPECT_TRUE(ready.empty());
  }
}

TEST_P(IoTest, AWakeBeforeThePollIsKept) {
  io_->wake();
  ReadyList ready;
  io_->poll(ready, std::nullopt);  // would hang
}

TEST_P(IoTest, AcceptsSeveralConnections) {
  SocketFd listener = listen();
  Results accepted;
  AcceptOp op(accepted.completion());
  io_->accept(listener, op);
  std::deque<Client> clients;
  for (int i = 0; i < 10; ++i) clients.emplace_back(port_of(listener));
  turn_until([&] { return accepted.list.size() >= 10; });
  for (int32_t fd : accepted.list) {
    ASSERT_GE(fd, 0);
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    ::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
    EXPECT_EQ(no_delay, 1);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    io_->close(fd);
  }
  io_->stop_accept(op);
  turn_until([&] { return accepted.list.size() >= 11; });
  EXPECT_EQ(accepted.last(), -ECANCELED);
  EXPECT_FALSE(op.done.pending());
}

TEST_P(IoTest, AnAcceptErrorIsToldAndAcceptingGoesOn) {
  SocketFd listener = listen();
  Client client(port_of(listener));
  int free_fd = ::dup(listener);
  ::close(free_fd);
  rlimit before;
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit full{static_cast<rlim_t>(free_fd), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &full);
  Results accepted;
  AcceptOp op(accepted.completion());
  io_->accept(listener, op);
  turn_until([&] { return !accepted.empty(); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(accepted.list.front(), -EMFILE);
  EXPECT_LT(accepted.list.size(), 10u) << "must not spin";
  turn_until([&] { return accepted.last() >= 0; });
  io_->close(accepted.last());
  io_->stop_accept(op);
  turn_until([&] { return accepted.last() == -ECANCELED; });
}

TEST_P(IoTest, AcceptMayBeStoppedFromItsOwnCompletion) {
  struct Once {
    void run(int32_t result) {
      results.push_back(result);
      if (result < 0) return;
      io->close(result);
      io->stop_accept(op);
    }
    Io* io;
    AcceptOp op{Completion::bind<&Once::run>(this)};
    std::vector<int32_t> results;
  };
  SocketFd listener = listen();
  Once once{io_.get()};
  io_->accept(listener, once.op);
  Client a(port_of(listener)), b(port_of(listener));
  turn_until([&] { return once.results.size() >= 2; });
  EXPECT_GE(once.results[0], 0);
  EXPECT_EQ(once.results[1], -ECANCELED);
}

TEST_P(IoTest, Addresses) {
  auto pair = connect();
  auto local = io_->local_address(pair.socket);
  auto peer = io_->peer_address(pair.socket);
  ASSERT_TRUE(local && peer);
  EXPECT_EQ(local->host, "127.0.0.1");
  EXPECT_EQ(peer->host, "127.0.0.1");
  EXPECT_NE(local->port, peer->port);
  EXPECT_EQ(SocketAddress({"::1", 9092}).to_string(), "[::1]:9092");
  EXPECT_EQ(SocketAddress({"127.0.0.1", 9092}).to_string(), "127.0.0.1:9092");
  EXPECT_EQ(io_->listen({"not an address", 0}, 1).error().code, EINVAL);
  EXPECT_EQ(io_->peer_address(-1).error().code, EBADF);
}

TEST_P(IoTest, AnEmptyHostTakesIpv4AndSeveralListenersShareAPort) {
  auto first = io_->listen({"", 0}, 16);
  ASSERT_TRUE(first);
  auto second = io_->listen({"", port_of(*first)}, 16);
  ASSERT_TRUE(second);
  Client client(port_of(*first));
  io_->close(*first);
  io_->close(*second);
}

TEST_P(IoTest, APortOfTheKernelsChoiceIsNobodyElses) {
  std::vector<uint16_t> ports;
  for (int i = 0; i < 200; ++i) ports.push_back(port_of(listen()));
  std::sort(ports.begin(), ports.end());
  EXPECT_EQ(std::adjacent_find(ports.begin(), ports.end()), ports.end());
}

TEST_P(IoTest, ReceivesIntoALease) {
  auto pair = connect();
  pair.client->send("hello");
  EXPECT_EQ(receive_some(pair.socket), "hello");
  pair.client->close();
  EXPECT_EQ(receive_some(pair.socket), "");
}

TEST_P(IoTest, ReceivesIntoTheCallersBuffer) {
  auto pair = connect();
  std::string text(3, '\0');
  Results got;
  RecvOp op(got.completion());
  op.into = {reinterpret_cast<uint8_t*>(text.data()), text.size()};
  io_->recv(pair.socket, op);
  pair.client->send("hello");
  turn_until([&] { return !got.empty(); });
  EXPECT_EQ(got.last(), 3);
  EXPECT_EQ(text, "hel");
  EXPECT_EQ(receive_some(pair.socket), "lo");
}

TEST_P(IoTest, AnEmptyPoolIsToldAndARetryAfterAReleaseWorks) {
  auto pair = connect();
  std::vector<Lease> leases;
  for (uint32_t i = 0; i < test::PollIo::kBuffers; ++i) {
    pair.client->send(std::string(1, static_cast<char>('a' + i)));
    Results got;
    RecvOp op(got.completion());
    io_->recv(pair.socket, op);
    turn_until([&] { return !got.empty(); });
    ASSERT_EQ(got.last(), 1);
    EXPECT_EQ(op.lease.data[0], 'a' + i);
    leases.push_back(op.lease);
  }
  pair.client->send("more");
  Results got;
  RecvOp op(got.completion());
  io_->recv(pair.socket, op);
  turn_until([&] { return !got.empty(); });
  EXPECT_EQ(got.last(), -ENOBUFS);
  for (uint32_t i = 0; i < leases.size(); ++i)
    EXPECT_EQ(leases[i].data[0], 'a' + i) << "a lease is its holder's alone";
  for (const Lease& lease : leases) io_->release(lease);
  EXPECT_EQ(receive_some(pair.socket), "more");
}

TEST_P(IoTest, LeasesGoAroundManyTimes) {
  auto pair = connect();
  for (int i = 0; i < 200; ++i) {
    std::string text = "message " + std::to_string(i);
    pair.client->send(text);
    ASSERT_EQ(receive_some(pair.socket), text);
  }
}

TEST_P(IoTest, BuffersAreLentWithoutAReceiveToo) {
  auto pair = connect();
  std::vector<Lease> leases;
  while (auto lease = io_->lease()) {
    EXPECT_EQ(lease->capacity, io_->lease_bytes());
    lease->data[lease->capacity - 1] = 1;
    leases.push_back(*lease);
    ASSERT_LE(leases.size(), test::PollIo::kBuffers);
  }
  EXPECT_GT(leases.size(), test::PollIo::kBuffers / 2);
  EXPECT_TRUE(io_->leases_are_scarce());
  pair.client->send("hello");
  EXPECT_EQ(receive_some(pair.socket), "hello") << "some are left for receives";
  for (const Lease& lease : leases) io_->release(lease);
  EXPECT_FALSE(io_->leases_are_scarce());
  pair.client->send("world");
  EXPECT_EQ(receive_some(pair.socket), "world");
}

TEST_P(IoTest, SendsPieces) {
  auto pair = connect();
  std::string one = "one ", two = "two";
  iovec pieces[2] = {{one.data(), one.size()}, {two.data(), two.size()}};
  for (int count : {2, 1}) {
    Results sent;
    SendOp op(sent.completion());
    op.pieces = pieces;
    op.count = count;
    io_->send(pair.socket, op);
    turn_until([&] { return !sent.empty(); });
    EXPECT_EQ(sent.last(), count == 2 ? 7 : 4);
  }
  EXPECT_EQ(pair.client->receive(11), "one twoone ");
}

TEST_P(IoTest, ASendWaitsForRoom) {
  auto pair = connect();
  size_t filled = fill(pair.socket);
  std::string text = "the end";
  iovec piece{text.data(), text.size()};
  Results sent;
  SendOp op(sent.completion());
  op.pieces = &piece;
  op.count = 1;
  io_->send(pair.socket, op);
  ReadyList ready;
  io_->poll(ready, 0);
  EXPECT_TRUE(ready.empty());
  std::thread reader([&] {
    EXPECT_EQ(pair.client->receive(filled).size(), filled);
    EXPECT_EQ(pair.client->receive(text.size()), text);
  });
  turn_until([&] { return !sent.empty(); });
  EXPECT_EQ(sent.last(), static_cast<int32_t>(text.size()));
  reader.join();
}

TEST_P(IoTest, PollWritableTellsWhenThereIsRoom) {
  auto pair = connect();
  Results writable;
  Op op(writable.completion());
  io_->poll_writable(pair.socket, op);
  turn_until([&] { return !writable.empty(); });
  EXPECT_EQ(writable.last(), 0);
  size_t filled = fill(pair.socket);
  io_->poll_writable(pair.socket, op);
  ReadyList ready;
  io_->poll(ready, 0);
  EXPECT_TRUE(ready.empty());
  EXPECT_TRUE(op.done.pending());
  EXPECT_EQ(pair.client->receive(filled).size(), filled);
  turn_until([&] { return writable.list.size() == 2; });
  EXPECT_EQ(writable.last(), 0);
}

TEST_P(IoTest, AnErrorToThePeerIsAnErrno) {
  auto pair = connect();
  pair.client->reset();
  Results got;
  RecvOp recv(got.completion());
  io_->recv(pair.socket, recv);
  turn_until([&] { return !got.empty(); });
  EXPECT_EQ(got.last(), -ECONNRESET);
  char byte = 'x';
  iovec piece{&byte, 1};
  EXPECT_EQ(io_->try_send(pair.socket, &piece, 1, false), -EPIPE);
  FileFd file = make_file("f", "text");
  EXPECT_EQ(io_->try_sendfile(pair.socket, file, 0, 4), -EPIPE);  // and no SIGPIPE
  Results sent;
  SendOp send(sent.completion());
  send.pieces = &piece;
  send.count = 1;
  io_->send(pair.socket, send);
  turn_until([&] { return !sent.empty(); });
  EXPECT_EQ(sent.last(), -EPIPE);
}

TEST_P(IoTest, ShutdownEndsPendingOperations) {
  auto pair = connect();
  fill(pair.socket);
  Results received, writable;
  RecvOp recv(received.completion());
  Op op(writable.completion());
  io_->recv(pair.socket, recv);
  io_->poll_writable(pair.socket, op);
  ReadyList ready;
  io_->poll(ready, 0);
  EXPECT_TRUE(ready.empty());
  io_->shutdown(pair.socket);
  turn_until([&] { return !received.empty() && !writable.empty(); });
  EXPECT_LE(received.last(), 0);
}

TEST_P(IoTest, SendsFromAFile) {
  auto pair = connect();
  std::string text(100'000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  FileFd file = make_file("f", text);
  std::string header = "header";
  iovec piece{header.data(), header.size()};
  ASSERT_EQ(io_->try_send(pair.socket, &piece, 1, true), 6);
  size_t done = 0;
  std::string got;
  while (done < 90'000) {
    int64_t sent = io_->try_sendfile(pair.socket, file, 10 + done, 90'000 - done);
    ASSERT_TRUE(sent > 0 || sent == -EAGAIN);
    if (sent > 0) done += static_cast<size_t>(sent);
    got += pair.client->take(1 << 20);
  }
  got += pair.client->receive(90'006 - got.size());
  EXPECT_EQ(got, header + text.substr(10, 90'000));
  EXPECT_EQ(io_->try_sendfile(pair.socket, file, text.size(), 10), 0) << "past the end";
}

TEST_P(IoTest, AFullSocketTakesNoFile) {
  auto pair = connect();
  fill(pair.socket);
  FileFd file = make_file("f", std::string(100'000, 'x'));
  EXPECT_EQ(io_->try_sendfile(pair.socket, file, 0, 100'000), -EAGAIN);
}

TEST_P(IoTest, ReadsFiles) {
  FileFd file = make_file("f", "0123456789");
  std::string text(4, '\0');
  Results got;
  ReadOp op(got.completion());
  op.into = {reinterpret_cast<uint8_t*>(text.data()), text.size()};
  io_->read(file, 3, op);
  EXPECT_TRUE(got.empty());
  turn_until([&] { return !got.empty(); });
  EXPECT_EQ(got.last(), 4);
  EXPECT_EQ(text, "3456");
  io_->read(file, 8, op);
  turn_until([&] { return got.list.size() == 2; });
  EXPECT_EQ(got.last(), 2);
  io_->read(-1, 0, op);
  turn_until([&] { return got.list.size() == 3; });
  EXPECT_EQ(got.last(), -EBADF);
}

TEST_P(IoTest, SyncsAndUnlinks) {
  FileFd file = make_file("f", "text");
  FileFd directory = io_->files().open(dir_.path(), OpenMode::kDirectory).value();
  fds_.push_back(directory);
  std::string path = dir_ / "f";
  Results synced, whole, unlinked, missing;
  Op sync(synced.completion()), whole_sync(whole.completion()), unlink(unlinked.completion());
  io_->sync(file, sync);
  io_->sync_file_system(directory, whole_sync);
  EXPECT_TRUE(sync.done.pending());
  turn_until([&] { return !synced.empty() && !whole.empty(); });
  EXPECT_EQ(synced.last(), 0);
  EXPECT_EQ(whole.last(), 0);
  io_->unlink(path.c_str(), unlink);
  turn_until([&] { return !unlinked.empty(); });
  EXPECT_EQ(unlinked.last(), 0);
  EXPECT_FALSE(io_->files().exists(path));
  Op again(missing.completion());
  io_->unlink(path.c_str(), again);
  io_->sync(-1, sync);
  turn_until([&] { return !missing.empty() && synced.list.size() == 2; });
  EXPECT_EQ(missing.last(), -ENOENT);
  EXPECT_EQ(synced.last(), -EBADF);
  ASSERT_TRUE(io_->files().make_directory(path));
  make_file("f/inner", "");
  std::string inner = path + "/inner";
  io_->remove_directory(path.c_str(), unlink);
  turn_until([&] { return unlinked.list.size() == 2; });
  EXPECT_EQ(unlinked.last(), -ENOTEMPTY);
  ASSERT_TRUE(io_->files().unlink(inner));
  io_->remove_directory(path.c_str(), unlink);
  turn_until([&] { return unlinked.list.size() == 3; });
  EXPECT_EQ(unlinked.last(), 0);
  EXPECT_FALSE(io_->files().exists(path));
  io_->sync_file_system(-1, whole_sync);
  turn_until([&] { return whole.list.size() == 2; });
  EXPECT_EQ(whole.last(), -EBADF);
}

TEST_P(IoTest, ManyOperationsAtOnce) {
  constexpr size_t kCount = 300;
  FileFd file = make_file("f", std::string(kCount, 'x'));
  Results done;
  std::deque<ReadOp> ops;
  std::vector<uint8_t> bytes(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    ops.emplace_back(done.completion()).into = {&bytes[i], 1};
    io_->read(file, i, ops.back());
    if (i == 0) {
      ReadyList ready;  // the ring belongs to this thread from here on
      io_->poll(ready, 0);
      while (!ready.empty()) {
        Completion& completion = ready.front();
        ready.pop_front();
        completion.run();
      }
    }
  }
  turn_until([&] { return done.list.size() == kCount; });
  EXPECT_EQ(bytes, std::vector<uint8_t>(kCount, 'x'));
  for (int32_t result : done.list) EXPECT_EQ(result, 1);
}

TEST_P(IoTest, CachedAfterAWrite) {
  std::string text(100'000, 'x');
  for (size_t i = 0; i < text.size(); i += 100) text[i] = static_cast<char>(i / 100);
  FileFd file = make_file("f", text);
  EXPECT_TRUE(io_->cached(file, 1000, 90'000));
  std::vector<uint8_t> bytes(90'000);
  EXPECT_EQ(io_->try_read(file, bytes, 1000), 90'000);
  EXPECT_EQ(as_text(Bytes(bytes)), text.substr(1000, 90'000));
  EXPECT_EQ(io_->try_read(file, bytes, text.size() - 10), 10) << "short at the end";
  EXPECT_LT(io_->try_read(-1, bytes, 0), 0);
}

}  // namespace
}  // namespace pelton
