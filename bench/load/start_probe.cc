// How long a broker takes from exec to its first Metadata answer, seen from a raw socket. The
// answer must name a broker and, with --partitions, that many partitions that have a leader. Prints
// one JSON object, then waits for the end of its standard input, ends the broker with SIGTERM and
// prints how long that took. The broker dies with this program.
//
// usage: start_probe --port n [--partitions n] [--limit-ms n] [--log path] -- command...
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/load/kafka_client.h"
#include "bench/load/options.h"
#include "proto/messages/metadata.h"

namespace pelton::bench {
namespace {

constexpr unsigned kRetryUs = 200;
constexpr int64_t kStopLimitNs = 60'000'000'000;

pid_t start(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644);
  int none = ::open("/dev/null", O_RDONLY);
  ::dup2(none, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

// Partitions with a leader of an answer that names a broker; -1 when it names none.
int64_t leaders(const proto::MetadataResponse& response) {
  if (response.brokers.empty()) return -1;
  int64_t found = 0;
  for (const auto& topic : response.topics)
    found += std::ranges::count_if(topic.partitions, [](const auto& partition) {
      return partition.error_code == 0 && partition.leader_id.value >= 0;
    });
  return found;
}

// One fresh connection and one request, in a version that needs no ApiVersions: false when nobody
// listens, or the answer is not good enough yet.
bool answered(uint16_t port, int64_t partitions) {
  constexpr int16_t kVersion = 1;
  constexpr int16_t kKey = static_cast<int16_t>(proto::ApiKey::kMetadata);
  Fd socket = try_connect_loopback(port);
  if (!socket.valid()) return false;
  proto::MetadataRequest request;
  if (partitions > 0)
    request.topics = std::nullopt;  // all
  else
    request.topics = std::span<proto::MetadataRequest::MetadataRequestTopic>{};
  size_t size = proto::request_header_size(kKey, kVersion, "bench") + request.size(kVersion);
  std::vector<uint8_t> frame(proto::kFrameSizeBytes + size);
  proto::WireWriter out(frame);
  out.write_i32(static_cast<int32_t>(size));
  proto::write_request_header(out, kKey, kVersion, 1, "bench");
  request.encode(out, kVersion);
  if (::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return false;

  std::array<uint8_t, proto::kFrameSizeBytes> prefix;
  if (::recv(socket.get(), prefix.data(), prefix.size(), MSG_WAITALL) !=
      static_cast<ssize_t>(prefix.size()))
    return false;
  std::vector<uint8_t> body(load_be<uint32_t>(prefix.data()));
  if (!receive_exact(socket, body)) return false;
  proto::Arena arena(proto::Arena::limit_for(body.size()));
  proto::WireReader in(body, arena);
  proto::read_response_header(in, kKey, kVersion);
  proto::MetadataResponse response;
  response.decode(in, kVersion);
  errno = 0;
  if (!in.ok()) fail("Metadata: a bad answer");
  return leaders(response) >= partitions;
}

bool ended(pid_t child, int& status) { return ::waitpid(child, &status, WNOHANG) == child; }

void stop(pid_t child) {
  int status = 0;
  int64_t started = monotonic_ns();
  ::kill(child, SIGTERM);
  while (!ended(child, status)) {
    if (monotonic_ns() - started > kStopLimitNs) {
      ::kill(child, SIGKILL);
      errno = 0;
      fail("the broker did not stop");
    }
    ::usleep(1000);
  }
  double ms = static_cast<double>(monotonic_ns() - started) / 1e6;
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  fmt::print(R"({{"stop_ms": {:.1f}, "exit_code": {}}})"
             "\n",
             ms, code);
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  int64_t partitions = options.number("--partitions", 0);
  int64_t limit_ns = options.number("--limit-ms", 60'000) * 1'000'000;
  std::string log = options.text("--log", "/dev/null");
  options.done();
  errno = 0;
  if (options.rest().empty()) fail("a command wanted after --");

  int64_t started = monotonic_ns();
  pid_t child = start(options.rest(), log);
  int status = 0;
  while (!answered(port, partitions)) {
    errno = 0;
    if (ended(child, status)) fail("the broker ended before it answered");
    if (monotonic_ns() - started > limit_ns) {
      ::kill(child, SIGKILL);
      fail("no answer in time");
    }
    ::usleep(kRetryUs);
  }
  fmt::print(R"({{"start_ms": {:.2f}, "pid": {}}})"
             "\n",
             static_cast<double>(monotonic_ns() - started) / 1e6, child);
  std::fflush(stdout);
  char byte;
  while (::read(0, &byte, 1) > 0) {
  }
  stop(child);
}
