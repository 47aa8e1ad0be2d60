#include "reactor/posix_sockets.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/reactor/backends.h"

namespace pelton {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A listener on a port of its own.
struct Listener {
  Listener() {
    auto opened = posix::listen({"127.0.0.1", 0}, 1, posix::ListenerMode::kBlocking);
    EXPECT_TRUE(opened.has_value());
    socket = *opened;
    address = *posix::local_address(socket);
  }
  void close() { ::close(static_cast<int>(socket)); }
  SocketFd socket{};
  SocketAddress address;
};

struct Nobody {
  void on_accept(int32_t) {}
};

TEST(WaitFree, APortThatStaysTakenIsToldAfterThePatience) {
  Listener taken;
  auto begun = steady_clock::now();
  Status free = posix::wait_free(taken.address, milliseconds(20));
  ASSERT_FALSE(free.has_value());
  EXPECT_EQ(free.error().code, EADDRINUSE);
  EXPECT_GE(steady_clock::now() - begun, milliseconds(20));
  taken.close();
  EXPECT_TRUE(posix::wait_free(taken.address, milliseconds(0)).has_value());
}

TEST(WaitFree, APortThatIsGivenBackIsTaken) {
  Listener taken;
  std::thread giver([&] {
    std::this_thread::sleep_for(milliseconds(30));
    taken.close();
  });
  EXPECT_TRUE(posix::wait_free(taken.address, std::chrono::seconds(30)).has_value());
  giver.join();
}

// The kernel holds what a ring's operations hold until the ring is torn down, behind the death of its process.
TEST(WaitFree, APortOfAKilledRing) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto io = test::make_uring({});
    auto opened = posix::listen({"127.0.0.1", 0}, 1, posix::ListenerMode::kBlocking);
    Nobody nobody;
    AcceptOp accepting(Completion::bind<&Nobody::on_accept>(&nobody));
    io->accept(*opened, accepting);
    ReadyList ready;
    io->poll(ready, 0);
    uint16_t port = posix::local_address(*opened)->port;
    (void)!::write(told[1], &port, sizeof port);
    for (;;) ::pause();
  }
  uint16_t port = 0;
  ASSERT_EQ(::read(told[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(posix::wait_free({"127.0.0.1", port}, std::chrono::seconds(30)).has_value());
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace pelton
