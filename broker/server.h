// Server: the broker as a whole: builds the shards over their Ios, brings the catalog and the partitions
// up, opens the listeners, and takes everything down again in order.
//
// Owner: main (or a test, or the simulator); turned by whoever runs the shards' loops. Lifetime: outlives
// the loops; the Ios outlive it. open() and listen() run before the loops, on one thread (loading
// partitions takes one thread a shard when the options allow it).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/config/broker_config.h"
#include "broker/server_stop.h"
#include "reactor/mailbox.h"
#include "reactor/shard.h"
#include "storage/log_dir.h"

namespace pelton::broker {

class Background;    // background.h
class HttpListener;  // metrics/http_listener.h

class Server {
 public:
  struct Options {
    bool load_in_threads = true;  // simulation has one thread only, and no helpers
    bool shuffle = false;         // debug order of completions
  };

  // One Io for each shard. The error is one sentence for the user.
  static Result<std::unique_ptr<Server>, std::string> open(const BrokerConfig& config,
                                                           const std::vector<Io*>& ios,
                                                           const Options& options);
  ~Server();

  // Opens every listener on every shard and accepts from then on.
  Result<void, std::string> listen();
  // Opens the metrics listener, where one is configured.
  Result<void, std::string> listen_metrics(const std::string& version);
  std::vector<Shard*> shards();
  BrokerShard& shard(ShardId id) { return *broker_shards_[id]; }
  const BrokerConfig& config() const { return config_; }
  const storage::LogDir& log_dir() const { return *log_dir_; }

  // Starts the orderly stop, from any thread; the loops end by themselves when it is done.
  void request_stop();
  // After the loops have ended: everything was written and the clean-shutdown marker too.
  bool stopped_clean() const { return stop_.clean(); }

 private:
  Server(const BrokerConfig& config, const std::vector<Io*>& ios, const Options& options);
  Result<void, std::string> start_up(const Options& options);
  Result<void, std::string> load_partitions(const Options& options);
  Result<void, std::string> listen(const ListenerConfig& listener);
  Result<bool, std::string> set_strays_aside(const CatalogSnapshot& catalog);
  Result<void, std::string> settle();

  BrokerConfig config_;
  std::unique_ptr<storage::LogDir> log_dir_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<BrokerShard>> broker_shards_;
  std::unique_ptr<HelperThreads> helpers_;
  std::unique_ptr<storage::LogStartCheckpoint> log_starts_;
  std::unique_ptr<CatalogWriter> catalog_writer_;
  std::unique_ptr<ConnectionLimits> connection_limits_;  // on the catalog's shard
  std::vector<std::unique_ptr<Background>> background_;
  std::vector<Background*> backgrounds_;  // by shard id, for the rounds they do together
  std::unique_ptr<HttpListener> metrics_;  // on the catalog's shard
  ServerStop stop_;
  friend class ServerStop;
};

}  // namespace pelton::broker
