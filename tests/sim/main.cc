// sim_test: the simulation's runs.
//   sim_test                     30 seeds
//   sim_test --seeds A-B         these seeds
//   sim_test --seed N            one run, with its trace
//   sim_test --seed N --quiet    one run, its summary alone
//   sim_test --check-replay      runs one seed twice and compares the traces
//   sim_test --check-checker     a disk whose syncs lie: a loss must be found within a few seeds
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

#include "reactor/base/log.h"
#include "tests/sim/simulation.h"

namespace {

using pelton::sim::Simulation;
using pelton::sim::SimulationOptions;

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kPromiseBroken = 3;

// Dead brokers hang on it, reachable to the end.
Simulation* running = nullptr;

int run_here(const SimulationOptions& options) {
  if (!options.trace) pelton::log_start(pelton::LogLevel::kError);
  running = new Simulation(options);
  bool ok = running->run();
  pelton::log_stop();
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
              running->summary().c_str());
  if (!ok)
    std::printf("seed %llu: VIOLATION %s\n", static_cast<unsigned long long>(options.seed),
                running->violation().c_str());
  std::fflush(stdout);
  if (ok) return kPassed;
  return running->promise_broken() ? kPromiseBroken : kFailed;
}

// In a process of its own: a failed CHECK ends one run, not all.
pid_t start_apart(const SimulationOptions& options) {
  std::fflush(stdout);
  pid_t child = ::fork();
  if (child == 0) std::exit(run_here(options));
  return child;
}

int code_of(uint64_t seed, int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("seed %llu: ended by signal %d\n", static_cast<unsigned long long>(seed), WTERMSIG(status));
  return kFailed;
}

int run_apart(const SimulationOptions& options) {
  pid_t child = start_apart(options);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return kFailed;
  return code_of(options.seed, status);
}

int run_seeds(uint64_t first, uint64_t last) {
  constexpr size_t kAtOnce = 2;
  auto started = std::chrono::steady_clock::now();
  int passed = 0;
  int failed = 0;
  std::map<pid_t, uint64_t> under_way;
  for (uint64_t seed = first; seed <= last || !under_way.empty();) {
    if (seed <= last && under_way.size() < kAtOnce) {
      pid_t child = start_apart({.seed = seed});
      if (child < 0) return kFailed;
      under_way[child] = seed++;
      continue;
    }
    int status = 0;
    auto ended = under_way.find(::wait(&status));
    if (ended == under_way.end()) return kFailed;
    bool ok = code_of(ended->second, status) == kPassed;
    ++(ok ? passed : failed);
    if (!ok)
      std::printf("   replay: sim_test --seed %llu\n", static_cast<unsigned long long>(ended->second));
    under_way.erase(ended);
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  std::printf("%d passed, %d failed in %.1f s\n", passed, failed, took.count());
  return failed == 0 ? 0 : 1;
}

// From a process that was started afresh, so that addresses differ.
std::string summary_of(const std::string& command) {
  std::string text;
  FILE* output = ::popen(command.c_str(), "r");
  if (output == nullptr) return text;
  char line[1024];
  while (std::fgets(line, sizeof line, output) != nullptr) text += line;
  return ::pclose(output) == 0 ? text : std::string();
}

int check_replay(const char* self) {
  std::string command = std::string(self) + " --quiet --seed 3";
  std::string first = summary_of(command);
  std::string second = summary_of(command);
  bool same = !first.empty() && first == second;
  std::printf("%s%s%s\n", first.c_str(), second.c_str(), same ? "the same run twice" : "DIFFERENT RUNS");
  return same ? 0 : 1;
}

int check_checker() {
  constexpr uint64_t kSeeds = 6;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (run_apart({.seed = seed, .sync_lies = true}) != kPromiseBroken) continue;
    std::printf("the lying disk was found out with seed %llu\n", static_cast<unsigned long long>(seed));
    return 0;
  }
  std::printf("the checker missed a disk whose syncs lie\n");
  return 1;
}

int usage() {
  std::fprintf(stderr,
               "usage: sim_test [--seed N [--quiet] | --seeds A-B | --check-replay | --check-checker]\n");
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  std::optional<uint64_t> seed;
  bool quiet = false;
  uint64_t first = 1;
  uint64_t last = 30;
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    bool has_value = i + 1 < count;
    if (argument == "--check-replay") return check_replay(arguments[0]);
    if (argument == "--check-checker") return check_checker();
    if (argument == "--quiet") {
      quiet = true;
    } else if (argument == "--seed" && has_value) {
      seed = std::strtoull(arguments[++i], nullptr, 10);
    } else if (argument == "--seeds" && has_value) {
      char* rest = nullptr;
      first = std::strtoull(arguments[++i], &rest, 10);
      last = *rest == '-' ? std::strtoull(rest + 1, nullptr, 10) : first;
    } else {
      return usage();
    }
  }
  if (seed) return run_here({.seed = *seed, .trace = !quiet});
  return run_seeds(first, last);
}
