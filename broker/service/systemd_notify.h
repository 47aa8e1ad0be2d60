// SystemdNotify: tells the service manager how the process is, by the protocol of sd_notify(3): datagrams of
// VARIABLE=value lines to the socket named by NOTIFY_SOCKET. Without that variable nothing is sent.
//
// Owner: main's thread. A lost datagram is no error: the service manager then acts by its own time-outs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pelton::broker {

class SystemdNotify {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment and removes them from it, as
  // the protocol asks: they are meant for this process alone.
  static SystemdNotify from_environment();
  // `address`: a path, or @name in the abstract namespace; empty: nobody listens.
  SystemdNotify(std::string address, std::optional<std::chrono::microseconds> watchdog);

  bool wanted() const { return !address_.empty(); }
  // How long the service manager waits for WATCHDOG=1 before it kills the process; none: it does not.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  void ready(std::string_view status) const;
  void stopping() const;
  void alive() const;
  void status(std::string_view text) const;

 private:
  void send(std::string_view state) const;

  std::string address_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace pelton::broker
