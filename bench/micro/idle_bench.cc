// What two shards cost that have nothing to do: processor time of the whole process in two seconds, and
// the memory their rings and pools add.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "reactor/mailbox.h"
#include "reactor/uring_io.h"

namespace pelton {
namespace {

double process_cpu_us() {
  timespec used;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

double resident_kib() {
  long total = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

struct Stop {
  void deliver(Shard& here) { here.loop().stop(); }
  Message message = Message::bind<&Stop::deliver>(this);
};

void idle_two_shards(benchmark::State& state) {
  double before_kib = resident_kib();
  auto io0 = std::move(UringIo::create().value());
  auto io1 = std::move(UringIo::create().value());
  Mailboxes boxes(2);
  Shard zero(0, *io0, boxes), one(1, *io1, boxes);
  std::unique_ptr<ShardThreads> threads;
  if (!ShardThreads::start({&zero, &one}, true, threads)) return state.SkipWithError("no threads");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  double used = 0;
  for (auto _ : state) {
    double before = process_cpu_us();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    used += process_cpu_us() - before;
  }
  state.counters["cpu_us_per_s"] = used / (2.0 * static_cast<double>(state.iterations()));
  state.counters["added_rss_KiB"] = resident_kib() - before_kib;
  Stop stops[2];
  zero.send_from_outside(stops[0].message);
  one.send_from_outside(stops[1].message);
  threads->join();
}
BENCHMARK(idle_two_shards)->Iterations(1)->UseRealTime();

}  // namespace
}  // namespace pelton
