#include "broker/catalog/removed_topics.h"

namespace pelton::broker {

RemovedTopics::RemovedTopics(BrokerShard& here, void* owner, Done done)
    : here_(here), owner_(owner), done_(done) {
  starts_forgotten_.owner = this;
  starts_forgotten_.done = [](void* self, Status outcome) {
    static_cast<RemovedTopics*>(self)->on_starts_forgotten(outcome);
  };
  forgotten_.owner = this;
  forgotten_.done = [](void* self, int32_t result) {
    static_cast<RemovedTopics*>(self)->on_forgotten(result);
  };
}

void RemovedTopics::note(const CatalogSnapshot& shown, const CatalogReplay& state) {
  if (state.topics_removed() == 0) return;
  for (const auto& [name, topic] : shown.topics()) {
    if (state.find(topic->id) != nullptr) continue;
    for (const PartitionInfo& info : topic->partitions) partitions_.push_back({name, info.index});
  }
}

void RemovedTopics::forget() {
  Status forgotten = here_.log_dir.forget(partitions_);
  if (!forgotten) return done_(owner_, forgotten);
  here_.log_starts->wait(starts_forgotten_);
}

void RemovedTopics::on_starts_forgotten(Status outcome) {
  auto directory = here_.storage.syncs->directory(here_.log_dir.path());
  if (outcome && !directory) outcome = std::unexpected(directory.error());
  if (!outcome) return done_(owner_, outcome);
  here_.storage.syncs->want(**directory, forgotten_);
  here_.storage.syncs->start();
}

void RemovedTopics::on_forgotten(int32_t result) {
  if (result < 0) return done_(owner_, sys_error(-result));
  partitions_.clear();
  done_(owner_, {});
}

}  // namespace pelton::broker
