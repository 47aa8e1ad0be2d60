// What fetch costs at the least: a server that reads a 60-byte request and answers it with one
// sendfile of a cached file, request by request, to a client with a given receive buffer. Knows
// nothing of Kafka. Prints one JSON object with a list: server CPU seconds per GB by reply size.
//
// usage: raw_fetch_ceiling --file path | --source path [--sizes 65536,1048576,4194304] [--bytes n]
//                          [--rounds n] [--receive-buffer n]
// --file makes a file of its own in large writes; --source serves an existing one. The cost depends on
// how the file was written: the page cache holds what came in large writes in large folios.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "bench/load/options.h"
#include "bench/load/sockets.h"

namespace pelton::bench {
namespace {

constexpr size_t kRequest = 60;
constexpr size_t kScratch = 256 * 1024;

struct Cost {
  double cpu_seconds = 0;
  double wall_seconds = 0;
  double calls_per_reply = 0;
};

// A file of `size` bytes whose pages are in the cache: they were just written.
Fd make_file(const std::string& path, size_t size) {
  ::unlink(path.c_str());
  Fd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!file.valid()) fail(path);
  std::vector<char> chunk(1 << 20, 'f');
  for (size_t left = size; left > 0;) {
    ssize_t wrote = ::write(file.get(), chunk.data(), std::min(left, chunk.size()));
    if (wrote <= 0) fail("write");
    left -= static_cast<size_t>(wrote);
  }
  return file;
}

size_t size_of(const Fd& file) {
  struct stat facts;
  if (::fstat(file.get(), &facts) != 0) fail("fstat");
  return static_cast<size_t>(facts.st_size);
}

// An existing file, read once so that it is in the page cache.
Fd open_cached(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) fail(path);
  std::vector<char> chunk(1 << 20);
  while (::read(file.get(), chunk.data(), chunk.size()) > 0) {
  }
  return file;
}

// Serves one connection to its end, walking round the file as a consumer walks a log.
Cost serve(const Fd& listener, const Fd& file, size_t file_size, size_t reply) {
  Fd socket = accept_one(listener);
  std::array<uint8_t, kRequest> request;
  Cost cost;
  off_t position = 0;
  double replies = 0;
  int64_t started = thread_cpu_ns();
  while (receive_exact(socket, request)) {
    if (static_cast<size_t>(position) + reply > file_size) position = 0;
    for (size_t left = reply; left > 0; cost.calls_per_reply += 1) {
      ssize_t sent = ::sendfile(socket.get(), file.get(), &position, left);
      if (sent <= 0) fail("sendfile");
      left -= static_cast<size_t>(sent);
    }
    replies += 1;
  }
  cost.cpu_seconds = static_cast<double>(thread_cpu_ns() - started) / 1e9;
  cost.calls_per_reply /= std::max(replies, 1.0);
  return cost;
}

void drive(uint16_t port, size_t reply, int64_t count, int receive_buffer) {
  Fd socket = connect_loopback(port, receive_buffer);
  const std::array<uint8_t, kRequest> request{};
  std::vector<uint8_t> scratch(kScratch);
  for (int64_t i = 0; i < count; ++i) {
    send_all(socket, request);
    receive_and_drop(socket, reply, scratch);
  }
}

Cost measure(const Fd& file, size_t file_size, size_t reply, int64_t count, int receive_buffer) {
  uint16_t port = 0;
  Fd listener = listen_loopback(port);
  Cost cost;
  std::thread server([&] { cost = serve(listener, file, file_size, reply); });
  int64_t started = monotonic_ns();
  drive(port, reply, count, receive_buffer);
  double wall = static_cast<double>(monotonic_ns() - started) / 1e9;
  server.join();
  cost.wall_seconds = wall;
  return cost;
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  std::string path = options.text("--file", "raw_fetch.log");
  std::string source = options.text("--source", "");
  std::vector<int64_t> sizes = options.numbers("--sizes", "65536,1048576,4194304");
  int64_t bytes = options.number("--bytes", 2'000'000'000);
  int64_t rounds = options.number("--rounds", 3);
  int receive_buffer = static_cast<int>(options.number("--receive-buffer", 65536));
  options.done();

  const size_t own_size = size_t{256} << 20;
  Fd file = source.empty() ? make_file(path, own_size) : open_cached(source);
  const size_t file_size = size_of(file);
  std::string rows;
  for (int64_t size : sizes) {
    errno = 0;
    if (size < 1 || static_cast<size_t>(size) > file_size) fail("a reply size beyond the file's");
    int64_t count = std::max<int64_t>(bytes / size, 1);
    double gigabytes = static_cast<double>(count * size) / 1e9;
    double cpu = 1e9, rate = 0, calls = 0;
    for (int64_t i = 0; i < rounds; ++i) {
      Cost cost = measure(file, file_size, static_cast<size_t>(size), count, receive_buffer);
      cpu = std::min(cpu, cost.cpu_seconds / gigabytes);
      rate = std::max(rate, gigabytes * 1e3 / cost.wall_seconds);
      calls = cost.calls_per_reply;
    }
    rows += fmt::format(R"({}{{"reply_bytes": {}, "cpu_s_per_gb": {:.4f}, "mb_per_s": {:.0f}, )"
                        R"("sendfile_calls": {:.1f}}})",
                        rows.empty() ? "" : ", ", size, cpu, rate, calls);
  }
  if (source.empty()) ::unlink(path.c_str());
  fmt::print("{{\"raw_fetch\": [{}]}}\n", rows);
}
