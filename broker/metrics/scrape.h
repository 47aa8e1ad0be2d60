// Scrape: makes one metrics page: every shard fills its sample, a slice a turn, and a helper thread writes
// the text.
//
// Owner shard: the one it was made on (home); while a shard's visit is there, that shard alone touches the
// visit. Lifetime: until done() was told; its owner checks running() before it goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/metrics/metrics_page.h"
#include "broker/metrics/shard_sample.h"
#include "reactor/helper_threads.h"

namespace pelton::broker {

class Scrape {
 public:
  using Page = std::shared_ptr<const std::string>;
  using Done = void (*)(void* owner, Page page);  // on the home shard

  // `shards`: all of them, by id.
  Scrape(std::vector<BrokerShard*> shards, ShardId home, ProcessFacts facts, void* owner, Done done);
  ~Scrape();

  bool running() const { return running_; }
  // Not while one is running.
  void start(const SampleLimits& limits);

 private:
  struct Visit {
    Visit(Scrape& its_scrape, BrokerShard& its_shard, const SampleLimits& limits);
    void arrived(Shard& there);
    void slice(int32_t);
    void back(Shard&);

    Scrape& scrape;
    BrokerShard& here;
    ShardSampler sampler;
    Message go;
    Message come;
    Completion next_slice;
  };

  void one_is_back();
  void write_text();
  void render(HelperContext&);
  void rendered(Shard&);

  std::vector<BrokerShard*> shards_;
  ShardId home_;
  ProcessFacts facts_;
  void* owner_;
  Done done_;
  bool running_ = false;
  std::vector<std::unique_ptr<Visit>> visits_;
  size_t away_ = 0;
  std::string text_;
  HelperJob job_;
};

}  // namespace pelton::broker
