// pelton: starts the broker. See --help.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "broker/config/load_config.h"
#include "broker/descriptors.h"
#include "broker/server.h"
#include "broker/service/liveness.h"
#include "broker/service/supervision.h"
#include "broker/service/systemd_notify.h"
#include "reactor/base/log.h"
#include "reactor/base/printable.h"
#include "reactor/posix_sockets.h"
#include "reactor/uring_io.h"

extern "C" char** environ;

namespace pelton::broker {
namespace {

constexpr int kExitConfig = 2;    // the configuration or the command line is wrong
constexpr int kExitStart = 1;     // the machine or the data directory does not allow to start
constexpr int kExitUnclean = 3;   // stopped, but the next start has to recover
constexpr auto kPortPatience = std::chrono::seconds(3);  // a killed broker's sockets go a little after it
constexpr auto kStopDeadline = std::chrono::milliseconds(4'800);

struct CommandLine {
  std::string properties;
  std::vector<std::string> overrides;
};

// Sets `exit_code` and returns false when the process is to end here (--help, --version, a mistake).
bool parse(int argc, char** argv, CommandLine& line, int& exit_code) {
  CLI::App app{"Pelton: a low-latency broker that speaks Apache Kafka's protocol.", "pelton"};
  app.set_version_flag("--version", "pelton " PELTON_VERSION);
  app.add_option("server.properties", line.properties,
                 "Properties file with Apache Kafka's keys. Without one, every key has its default.");
  app.add_option("--override", line.overrides, "key=value; overrides the file and the environment")
      ->allow_extra_args(false);
  app.footer(
      "Keys are taken from the file, from KAFKA_* variables of the environment (KAFKA_LOG_DIRS is\n"
      "log.dirs) and from --override, the last one winning. An empty data directory is formatted.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : kExitConfig;
    return false;
  }
  return true;
}

bool read_sources(const CommandLine& line, ConfigSources& sources) {
  sources.overrides = line.overrides;
  for (char** each = environ; *each != nullptr; ++each) sources.environment.emplace_back(*each);
  if (line.properties.empty()) return true;
  sources.file_name = line.properties;
  std::ifstream file(line.properties);
  if (!file) {
    fmt::print(stderr, "pelton: cannot read {}: {}\n", line.properties, to_string(SysError{errno}));
    return false;
  }
  sources.file_text.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

LogLevel level_of(const std::string& name) {
  if (name == "trace") return LogLevel::kTrace;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

// Cores this process may use, not those of the machine.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

Result<std::vector<std::unique_ptr<UringIo>>, std::string> make_ios(int shards) {
  std::vector<std::unique_ptr<UringIo>> ios;
  UringOptions options;
  options.syncer = std::make_shared<FileSystemSyncer>();
  for (int i = 0; i < shards; ++i) {
    auto io = UringIo::create(options);
    if (!io) return std::unexpected(io.error());
    ios.push_back(std::move(*io));
  }
  return ios;
}

// Starts the stop; the deadline ends the process.
void stop(Server& server, const SystemdNotify& manager) {
  manager.stopping();
  server.request_stop();
  std::thread([] {
    std::this_thread::sleep_for(kStopDeadline);
    std::fputs("pelton: the stop takes too long; leaving, the next start recovers\n", stderr);
    _exit(kExitUnclean);
  }).detach();
}

void log_start_up(const Server& server, const UringIo& io, int64_t started_ms) {
  log_info("pelton {} node.id={} cluster.id={} data={} shards={} ready in {} ms", PELTON_VERSION,
           server.config().node_id, server.log_dir().cluster_id(), server.log_dir().path(),
           server.config().shards, started_ms);
  log_info("io_uring: {}", io.features());
}

// Waits for a port that a broker may just have been killed on, and says so. True: it had to wait.
Result<bool> wait_for_port(const SocketAddress& address, const std::string& name) {
  if (Status free = posix::check_free(address); free || free.error().code != EADDRINUSE) {
    if (!free) return std::unexpected(free.error());
    return false;
  }
  log_warn("{} is in use (listener {}); waiting up to {} s for it", address.to_string(), name,
           kPortPatience.count());
  if (Status free = posix::wait_free(address, kPortPatience); !free) return std::unexpected(free.error());
  return true;
}

// Looks the listeners' names up and tries their ports, before anything is touched. True: it had to wait.
Result<bool, std::string> prepare_listeners(BrokerConfig& config) {
  bool waited = false;
  for (auto* group : {&config.listeners, &config.controller_listeners}) {
    for (ListenerConfig& listener : *group) {
      auto address = posix::look_up(listener.bind.host);
      if (!address) {
        return std::unexpected(fmt::format("cannot listen on {} (listener {}): no address of {} is known: {}",
                                           listener.bind.to_string(), listener.name, listener.bind.host,
                                           address.error()));
      }
      listener.bind.host = *address;
      auto free = wait_for_port(listener.bind, listener.name);
      if (!free) {
        return std::unexpected(fmt::format("cannot listen on {} (listener {}): {}", listener.bind.to_string(),
                                           listener.name, to_string(free.error())));
      }
      waited |= *free;
    }
  }
  return waited;
}

// Looks host names of max.connections.per.ip.overrides up.
Result<void, std::string> prepare_address_limits(BrokerConfig& config) {
  AddressLimits looked_up;
  for (const auto& [host, count] : config.connection_limits.of_addresses) {
    auto address = posix::look_up(host);
    if (!address)
      return std::unexpected(fmt::format("max.connections.per.ip.overrides: no address of {} is known: {}", host,
                                         address.error()));
    looked_up[*address] = count;
  }
  config.connection_limits.of_addresses = std::move(looked_up);
  return {};
}

// A port for metrics that nobody asked for may be another broker's: then this one has none. `patience`: how long
// it may be one's own, of before a kill.
Result<void, std::string> listen_metrics(const BrokerConfig& config, std::chrono::seconds patience,
                                         Server& server) {
  constexpr const char* kKey = "pelton.metrics.listener";
  const SocketAddress& address = *config.metrics_listener;
  if (Status free = posix::wait_free(address, patience); !free) {
    std::string why = fmt::format("cannot listen on {} ({}): {}", address.to_string(), kKey,
                                  to_string(free.error()));
    if (config.metrics_listener_given) return std::unexpected(why);
    log_warn("Metrics are not served: {}; another broker of this machine may serve its own there. {}=address:port "
             "gives this one a port, an empty value none",
             why, kKey);
    return {};
  }
  return server.listen_metrics(PELTON_VERSION);
}

int serve(BrokerConfig config, const std::vector<std::string>& notices) {
  auto started = std::chrono::steady_clock::now();
  // Every thread inherits the mask: only the waiting thread takes signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  SystemdNotify manager = SystemdNotify::from_environment();
  log_start(level_of(config.log_level));
  for (const std::string& notice : notices) log_warn("{}", notice);

  raise_descriptor_limit();
  if (config.shards <= 0) config.shards = usable_cores();
  auto fail = [](const std::string& why) {
    log_error("{}", why);
    log_stop();
    return kExitStart;
  };
  auto waited = prepare_listeners(config);
  if (!waited) return fail(waited.error());
  if (auto prepared = prepare_address_limits(config); !prepared) return fail(prepared.error());
  auto ios = make_ios(config.shards);
  if (!ios) return fail(ios.error());
  std::vector<Io*> io_pointers;
  for (auto& io : *ios) io_pointers.push_back(io.get());
  auto server = Server::open(config, io_pointers, {});
  if (!server) return fail(server.error());
  if (auto listening = (*server)->listen(); !listening) return fail(listening.error());
  if (config.metrics_listener) {
    auto patience = *waited || config.metrics_listener_given ? kPortPatience : std::chrono::seconds(0);
    if (auto listening = listen_metrics(config, patience, **server); !listening) return fail(listening.error());
  }

  std::unique_ptr<ShardThreads> threads;
  if (Status running = ShardThreads::start((*server)->shards(), config.pin_shards, threads); !running)
    return fail("cannot start the shards' threads: " + to_string(running.error()));
  auto took = std::chrono::steady_clock::now() - started;
  log_start_up(**server, *ios->front(),
               std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  manager.ready(fmt::format("Ready; cluster {}, {} shards", (*server)->log_dir().cluster_id(),
                            config.shards));
  // Until the process ends: a shard may answer as long as its thread runs.
  Liveness liveness((*server)->shards());
  supervise(signals, manager, liveness);
  stop(**server, manager);
  threads->join();
  bool clean = (*server)->stopped_clean();
  log_info("Stopped{}", clean ? "" : "; the next start recovers");
  log_stop();
  // Shards are gone and everything is written: nothing is left that a destructor must do.
  _exit(clean ? 0 : kExitUnclean);
}

int run(int argc, char** argv) {
  CommandLine line;
  int exit_code = 0;
  if (!parse(argc, argv, line, exit_code)) return exit_code;
  ConfigSources sources;
  if (!read_sources(line, sources)) return kExitConfig;
  std::vector<std::string> notices;
  auto config = load_config(sources, notices);
  if (!config) {
    for (const std::string& error : config.error()) fmt::print(stderr, "pelton: {}\n", printable(error));
    return kExitConfig;
  }
  return serve(std::move(*config), notices);
}

}  // namespace
}  // namespace pelton::broker

int main(int argc, char** argv) { return pelton::broker::run(argc, argv); }
