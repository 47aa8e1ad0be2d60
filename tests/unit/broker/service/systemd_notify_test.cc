#include "broker/service/systemd_notify.h"

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "reactor/base/check.h"
#include "tests/unit/reactor/temp_dir.h"

namespace pelton::broker {
namespace {

// The service manager's end.
class Manager {
 public:
  explicit Manager(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name_[0] == '@') address.sun_path[0] = '\0';
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    CHECK(::bind(fd_, reinterpret_cast<sockaddr*>(&address), length) == 0);
  }
  ~Manager() { ::close(fd_); }

  const std::string& name() const { return name_; }
  // "" when nothing came.
  std::string received() {
    char text[512];
    ssize_t got = ::recv(fd_, text, sizeof text, 0);
    return got < 0 ? "" : std::string(text, static_cast<size_t>(got));
  }

 private:
  std::string name_;
  int fd_;
};

void set_environment(const std::string& socket, const char* usec, const std::string& pid) {
  ::setenv("NOTIFY_SOCKET", socket.c_str(), 1);
  ::setenv("WATCHDOG_USEC", usec, 1);
  ::setenv("WATCHDOG_PID", pid.c_str(), 1);
}

TEST(SystemdNotifyTest, TellsThroughAPathAndAnAbstractName) {
  test::TempDir dir;
  for (std::string name : {dir.path() + "/notify", fmt::format("@pelton-test-{}", ::getpid())}) {
    Manager manager(name);
    SystemdNotify notify(name, {});
    notify.ready("2 shards");
    EXPECT_EQ(manager.received(), "READY=1\nSTATUS=2 shards");
    notify.alive();
    EXPECT_EQ(manager.received(), "WATCHDOG=1");
    notify.stopping();
    EXPECT_EQ(manager.received(), "STOPPING=1\nSTATUS=Stopping");
  }
}

TEST(SystemdNotifyTest, TakesTheVariablesOutOfTheEnvironment) {
  set_environment("/run/somewhere", "2000000", std::to_string(::getpid()));
  SystemdNotify notify = SystemdNotify::from_environment();
  EXPECT_TRUE(notify.wanted());
  EXPECT_EQ(notify.watchdog(), std::chrono::seconds(2));
  EXPECT_EQ(::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_USEC"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_PID"), nullptr);
  EXPECT_FALSE(SystemdNotify::from_environment().wanted());
}

TEST(SystemdNotifyTest, AWatchdogMeantForAnotherProcessIsNotOurs) {
  set_environment("/run/somewhere", "2000000", "1");
  EXPECT_FALSE(SystemdNotify::from_environment().watchdog());
  set_environment("/run/somewhere", "soon", std::to_string(::getpid()));
  EXPECT_FALSE(SystemdNotify::from_environment().watchdog());
  // Nobody to tell: no reason to watch.
  set_environment("", "2000000", std::to_string(::getpid()));
  EXPECT_FALSE(SystemdNotify::from_environment().watchdog());
}

TEST(SystemdNotifyTest, AnAddressThatCannotBeIsIgnored) {
  EXPECT_FALSE(SystemdNotify(std::string(200, '/'), {}).wanted());
  EXPECT_FALSE(SystemdNotify("vsock:2:9999", {}).wanted());
  SystemdNotify nobody("/nonexistent/socket", {});
  nobody.ready("");  // goes nowhere, and that is all
}

}  // namespace
}  // namespace pelton::broker
