#include "broker/metrics/scrape.h"

#include <utility>

namespace pelton::broker {

Scrape::Visit::Visit(Scrape& its_scrape, BrokerShard& its_shard, const SampleLimits& limits)
    : scrape(its_scrape),
      here(its_shard),
      sampler(limits),
      go(Message::bind<&Visit::arrived>(this)),
      come(Message::bind<&Visit::back>(this)),
      next_slice(Completion::bind<&Visit::slice>(this)) {}

void Scrape::Visit::arrived(Shard&) {
  sampler.begin(here);
  slice(0);
}

void Scrape::Visit::slice(int32_t) {
  if (!sampler.take_slice(here)) return here.shard.loop().post(next_slice);
  here.shard.send(scrape.home_, come);
}

void Scrape::Visit::back(Shard&) { scrape.one_is_back(); }

Scrape::Scrape(std::vector<BrokerShard*> shards, ShardId home, ProcessFacts facts, void* owner, Done done)
    : shards_(std::move(shards)),
      home_(home),
      facts_(std::move(facts)),
      owner_(owner),
      done_(done),
      job_(HelperJob::bind<&Scrape::render, &Scrape::rendered>(this)) {}

Scrape::~Scrape() { CHECK(!running_, "a scrape ends before its owner"); }

void Scrape::start(const SampleLimits& limits) {
  CHECK(!running_, "one scrape at a time");
  running_ = true;
  visits_.clear();
  for (BrokerShard* shard : shards_) visits_.push_back(std::make_unique<Visit>(*this, *shard, limits));
  away_ = visits_.size();
  for (auto& visit : visits_) shards_[home_]->shard.send(visit->here.shard.id(), visit->go);
}

void Scrape::one_is_back() {
  if (--away_ > 0) return;
  BrokerShard& here = *shards_[home_];
  if (here.helpers != nullptr && here.helpers->submit(here.shard, job_, 0)) return;
  // No helper has time for it: the page is written here.
  write_text();
  rendered(here.shard);
}

void Scrape::render(HelperContext&) { write_text(); }

void Scrape::write_text() {
  std::vector<const ShardSample*> samples;
  for (const auto& visit : visits_) samples.push_back(&visit->sampler.sample());
  text_ = metrics_page(samples, facts_);
}

void Scrape::rendered(Shard&) {
  running_ = false;
  visits_.clear();
  done_(owner_, std::make_shared<const std::string>(std::exchange(text_, {})));
}

}  // namespace pelton::broker
