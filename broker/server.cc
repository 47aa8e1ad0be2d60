#include "broker/server.h"

#include <thread>

#include "broker/background.h"
#include "broker/catalog/metadata_log.h"
#include "broker/catalog/writer.h"
#include "broker/descriptors.h"
#include "broker/fetch/fetch_session.h"
#include "broker/group/group_shard.h"
#include "broker/helper_context.h"
#include "broker/metrics/http_listener.h"
#include "broker/net/connection_limits.h"
#include "broker/net/connection_set.h"
#include "broker/partition_set.h"
#include "reactor/base/log.h"
#include "storage/log_deletion.h"
#include "storage/log_start_checkpoint.h"

namespace pelton::broker {
namespace {

constexpr unsigned kCoresForTwoHelpers = 4;

int helper_count(const Server::Options& options) {
  if (!options.load_in_threads) return 0;
  return std::thread::hardware_concurrency() >= kCoresForTwoHelpers ? 2 : 1;
}

}  // namespace

Server::Server(const BrokerConfig& config, const std::vector<Io*>& ios, const Options& options)
    : config_(config), mailboxes_(static_cast<ShardId>(ios.size())), stop_(*this) {
  for (size_t id = 0; id < ios.size(); ++id)
    shards_.push_back(std::make_unique<Shard>(static_cast<ShardId>(id), *ios[id], mailboxes_,
                                              options.shuffle));
}

Server::~Server() = default;

Result<std::unique_ptr<Server>, std::string> Server::open(const BrokerConfig& config,
                                                          const std::vector<Io*>& ios,
                                                          const Options& options) {
  std::unique_ptr<Server> server(new Server(config, ios, options));
  if (auto started = server->start_up(options); !started) return std::unexpected(started.error());
  return server;
}

Result<void, std::string> Server::start_up(const Options& options) {
  auto log_dir = storage::LogDir::open(
      shards_[0]->io(), {config_.log_dir, config_.node_id, config_.cluster_id});
  if (!log_dir) return std::unexpected(log_dir.error());
  log_dir_ = std::move(*log_dir);
  config_.cluster_id = log_dir_->cluster_id();
  for (auto& shard : shards_)
    broker_shards_.push_back(std::make_unique<BrokerShard>(*shard, config_, *log_dir_, broker_shards_));
  helpers_ = std::make_unique<HelperThreads>(HelperThreads::Options{.threads = helper_count(options)},
                                             &BrokerHelperContext::make);
  for (auto& here : broker_shards_) here->helpers = helpers_.get();

  log_starts_ = std::make_unique<storage::LogStartCheckpoint>(shards_[kCatalogShard]->io(), *log_dir_);
  broker_shards_[kCatalogShard]->log_starts = log_starts_.get();

  auto writer = CatalogWriter::open(*broker_shards_[kCatalogShard]);
  if (!writer) return std::unexpected(writer.error());
  catalog_writer_ = std::move(*writer);
  broker_shards_[kCatalogShard]->catalog_writer = catalog_writer_.get();
  if (auto loaded = load_partitions(options); !loaded) return loaded;
  log_dir_->all_loaded();
  catalog_writer_->start();

  connection_limits_ = std::make_unique<ConnectionLimits>(
      *broker_shards_[kCatalogShard], broker_shards_.size(), connection_descriptors(),
      waiting_descriptors(static_cast<size_t>(config_.socket_listen_backlog)));
  broker_shards_[kCatalogShard]->connection_limits = connection_limits_.get();

  for (auto& here : broker_shards_)
    background_.push_back(std::make_unique<Background>(*here, backgrounds_));
  for (auto& each : background_) backgrounds_.push_back(each.get());
  for (auto& each : background_) each->start();
  return {};
}

// What the directory holds of topics that the catalog does not have: their partitions, and lines in the
// checkpoints. Whether there was any.
Result<bool, std::string> Server::set_strays_aside(const CatalogSnapshot& catalog) {
  bool any = false;
  // A copy: what is set aside leaves the list.
  for (const storage::FoundPartition& found : std::vector(log_dir_->partitions())) {
    const TopicInfo* topic = catalog.find(found.id.topic);
    if (topic != nullptr && topic->id == found.topic_id) continue;
    if (found.id.topic == kMetadataTopic) continue;
    bool held_records = topic != nullptr && log_dir_->durable_offset(topic->id, found.id.partition) > 0;
    if (topic != nullptr && !held_records && log_dir_->discard_unfinished(found)) continue;
    // The catalog that says so may be in the page cache only.
    if (!any) {
      if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    }
    log_warn("{} belongs to no topic of this cluster: set aside as a stray", found.id.directory_name());
    if (Status moved = log_dir_->set_aside(found.id); !moved)
      return std::unexpected("cannot set aside " + found.id.directory_name() + ": " +
                             to_string(moved.error()));
    any = true;
  }
  // A crash may have come between the deletion of a topic and that of its lines.
  std::vector<storage::TopicPartition> lines = log_dir_->in_checkpoints();
  std::erase_if(lines, [&](const storage::TopicPartition& id) {
    return id.topic == kMetadataTopic || catalog.find(id.topic) != nullptr;
  });
  if (Status forgotten = log_dir_->forget(lines); !forgotten)
    return std::unexpected("cannot write the checkpoints: " + to_string(forgotten.error()));
  return any || !lines.empty();
}

Result<void, std::string> Server::load_partitions(const Options& options) {
  std::shared_ptr<const CatalogSnapshot> snapshot = catalog_writer_->snapshot();
  auto strays = set_strays_aside(*snapshot);
  if (!strays) return std::unexpected(strays.error());
  if (*strays) {
    if (auto settled = settle(); !settled) return settled;
  }
  // A thread may have to wait for a core longer than a few logs take.
  constexpr size_t kFewLogs = 32;
  bool in_threads = options.load_in_threads && log_dir_->partitions().size() > kFewLogs;
  std::vector<std::thread> threads;
  std::vector<Result<void, std::string>> results(broker_shards_.size());
  auto load = [&](size_t id) {
    BrokerShard& here = *broker_shards_[id];
    results[id] = here.partitions->load(snapshot);
    here.use_catalog(snapshot);
  };
  for (size_t id = 1; id < broker_shards_.size(); ++id) {
    if (in_threads) {
      threads.emplace_back(load, id);
    } else {
      load(id);
    }
  }
  load(0);
  for (std::thread& thread : threads) thread.join();
  for (auto& result : results)
    if (!result) return result;
  if (auto settled = settle(); !settled) return settled;
  for (auto& here : broker_shards_) here->groups->on_catalog_applied(*here);
  return {};
}

Result<void, std::string> Server::settle() {
  if (Status settled = log_dir_->settle(); !settled)
    return std::unexpected("cannot sync " + log_dir_->path() + ": " + to_string(settled.error()));
  return {};
}

Result<void, std::string> Server::listen() {
  for (const auto* group : {&config_.listeners, &config_.controller_listeners}) {
    for (const ListenerConfig& listener : *group) {
      if (auto opened = listen(listener); !opened) return opened;
    }
  }
  for (auto& here : broker_shards_) here->connections->start();
  // Not before: it may take long, and nobody has to wait for it.
  broker_shards_[kCatalogShard]->storage.deletions->delete_leftovers(log_dir_->take_leftovers());
  return {};
}

Result<void, std::string> Server::listen(const ListenerConfig& listener) {
  ListenerConfig on_port = listener;
  for (auto& here : broker_shards_) {
    if (Status opened = here->connections->listen(on_port, on_port.bind.port); !opened)
      return std::unexpected("cannot listen on " + on_port.bind.to_string() + " (listener " +
                             listener.name + "): " + to_string(opened.error()));
  }
  log_info("Listening on {}://{}", listener.name, on_port.bind.to_string());
  return {};
}

Result<void, std::string> Server::listen_metrics(const std::string& version) {
  if (!config_.metrics_listener) return {};
  std::vector<BrokerShard*> all;
  for (auto& here : broker_shards_) all.push_back(here.get());
  BrokerShard& here = *broker_shards_[kCatalogShard];
  ProcessFacts facts{.version = version,
                     .cluster_id = config_.cluster_id,
                     .node_id = config_.node_id,
                     .started_ms = here.shard.loop().wall_ms()};
  metrics_ = std::make_unique<HttpListener>(here, all, facts);
  auto bound = metrics_->listen(*config_.metrics_listener);
  if (!bound)
    return std::unexpected(fmt::format("cannot listen on {} (pelton.metrics.listener): {}",
                                       config_.metrics_listener->to_string(), to_string(bound.error())));
  log_info("Metrics on http://{}/metrics", bound->to_string());
  return {};
}

std::vector<Shard*> Server::shards() {
  std::vector<Shard*> all;
  for (auto& shard : shards_) all.push_back(shard.get());
  return all;
}

void Server::request_stop() { stop_.request(); }

}  // namespace pelton::broker
