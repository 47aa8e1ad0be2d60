#include "broker/service/systemd_notify.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace pelton::broker {
namespace {

std::string take(const char* name) {
  const char* value = ::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

SystemdNotify SystemdNotify::from_environment() {
  std::string address = take("NOTIFY_SOCKET");
  std::optional<int64_t> interval = number(take("WATCHDOG_USEC"));
  std::string whom = take("WATCHDOG_PID");
  // The variables may have been inherited from a parent that they were meant for.
  if (!whom.empty() && number(whom) != ::getpid()) interval.reset();
  std::optional<std::chrono::microseconds> watchdog;
  if (interval) watchdog = std::chrono::microseconds(*interval);
  return {std::move(address), watchdog};
}

SystemdNotify::SystemdNotify(std::string address, std::optional<std::chrono::microseconds> watchdog)
    : address_(std::move(address)), watchdog_(watchdog) {
  bool usable = address_.size() > 1 && (address_[0] == '/' || address_[0] == '@') &&
                address_.size() < sizeof(sockaddr_un::sun_path);
  if (!usable) address_.clear();
  if (address_.empty()) watchdog_.reset();
}

void SystemdNotify::ready(std::string_view text) const {
  send(fmt::format("READY=1\nSTATUS={}", text));
}
void SystemdNotify::stopping() const { send("STOPPING=1\nSTATUS=Stopping"); }
void SystemdNotify::alive() const { send("WATCHDOG=1"); }
void SystemdNotify::status(std::string_view text) const { send(fmt::format("STATUS={}", text)); }

void SystemdNotify::send(std::string_view state) const {
  if (address_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  [[maybe_unused]] ssize_t sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                           reinterpret_cast<const sockaddr*>(&address), length);
  ::close(fd);
}

}  // namespace pelton::broker
