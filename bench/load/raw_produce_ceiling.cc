// What produce costs at the least: a server that receives Produce-sized requests, writes each with
// pwritev into a preallocated file and answers 50 bytes; a client with several requests in flight.
// Knows nothing of Kafka. Prints one JSON object with a list: server CPU seconds per GB by request
// size.
//
// usage: raw_produce_ceiling --file path [--sizes 16384,131072] [--bytes n] [--rounds n]
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

constexpr size_t kAnswer = 50;
constexpr size_t kInFlight = 5;
constexpr size_t kSizeBytes = 4;

struct Cost {
  double cpu_seconds = 0;
  double wall_seconds = 0;
};

Fd open_log(const std::string& path, int64_t bytes) {
  ::unlink(path.c_str());
  Fd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!file.valid()) fail(path);
  if (::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, bytes) != 0) fail("fallocate");
  return file;
}

void append(const Fd& file, Bytes bytes, off_t at) {
  iovec piece{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  if (::pwritev(file.get(), &piece, 1, at) != static_cast<ssize_t>(bytes.size())) fail("pwritev");
}

// Serves one connection to its end; the CPU it took.
double serve(const Fd& listener, const Fd& file, size_t request) {
  Fd socket = accept_one(listener);
  const size_t frame = kSizeBytes + request;
  std::vector<uint8_t> buffer(2 * frame);
  const std::array<uint8_t, kAnswer> answer{};
  size_t held = 0;
  off_t position = 0;
  int64_t started = thread_cpu_ns();
  while (true) {
    ssize_t got = ::recv(socket.get(), buffer.data() + held, buffer.size() - held, 0);
    if (got < 0) fail("recv");
    if (got == 0) break;
    held += static_cast<size_t>(got);
    size_t used = 0;
    for (; held - used >= frame; used += frame) {
      if (load_be<uint32_t>(buffer.data() + used) != request) fail("a frame of another size");
      append(file, Bytes(buffer).subspan(used + kSizeBytes, request), position);
      position += static_cast<off_t>(request);
      send_all(socket, answer);
    }
    held -= used;
    std::copy_n(buffer.begin() + static_cast<ptrdiff_t>(used), held, buffer.begin());
  }
  return static_cast<double>(thread_cpu_ns() - started) / 1e9;
}

void drive(uint16_t port, size_t request, int64_t count) {
  Fd socket = connect_loopback(port);
  std::vector<uint8_t> frame(kSizeBytes + request, 'p');
  store_be<uint32_t>(frame.data(), static_cast<uint32_t>(request));
  std::array<uint8_t, kAnswer> answer;
  for (int64_t sent = 0, answered = 0; answered < count;) {
    if (sent < count && sent - answered < static_cast<int64_t>(kInFlight)) {
      send_all(socket, frame);
      ++sent;
    } else {
      if (!receive_exact(socket, answer)) fail("the server closed");
      ++answered;
    }
  }
}

Cost measure(const std::string& path, size_t request, int64_t count) {
  Fd file = open_log(path, count * static_cast<int64_t>(request));
  uint16_t port = 0;
  Fd listener = listen_loopback(port);
  Cost cost;
  std::thread server([&] { cost.cpu_seconds = serve(listener, file, request); });
  int64_t started = monotonic_ns();
  drive(port, request, count);
  cost.wall_seconds = static_cast<double>(monotonic_ns() - started) / 1e9;
  server.join();
  ::unlink(path.c_str());
  return cost;
}

// Minimum of the rounds: other work on the machine only ever adds.
std::string row(const std::string& path, int64_t request, int64_t bytes, int64_t rounds) {
  int64_t count = std::max<int64_t>(bytes / request, 1);
  double gigabytes = static_cast<double>(count * request) / 1e9;
  double cpu = 1e9, rate = 0;
  for (int64_t i = 0; i < rounds; ++i) {
    Cost cost = measure(path, static_cast<size_t>(request), count);
    cpu = std::min(cpu, cost.cpu_seconds / gigabytes);
    rate = std::max(rate, gigabytes * 1e3 / cost.wall_seconds);
  }
  return fmt::format(R"({{"request_bytes": {}, "cpu_s_per_gb": {:.4f}, "mb_per_s": {:.0f}}})",
                     request, cpu, rate);
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  std::string path = options.text("--file", "raw_produce.log");
  std::vector<int64_t> sizes = options.numbers("--sizes", "16384,131072");
  int64_t bytes = options.number("--bytes", 1'000'000'000);
  int64_t rounds = options.number("--rounds", 3);
  options.done();
  std::string rows;
  for (int64_t size : sizes) rows += (rows.empty() ? "" : ", ") + row(path, size, bytes, rounds);
  fmt::print("{{\"raw_produce\": [{}]}}\n", rows);
}
