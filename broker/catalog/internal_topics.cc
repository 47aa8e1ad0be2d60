#include "broker/catalog/internal_topics.h"

#include <memory>
#include <string>

#include "broker/broker_shard.h"
#include "broker/catalog/topic_changes.h"
#include "broker/catalog/writer.h"

namespace pelton::broker {
namespace {

struct Ensure {
  std::string_view name;
  ShardId back;
  Request::Continue next;
  void* state;  // the caller's
};

void go_back(Request& request) {
  auto* ensure = static_cast<Ensure*>(request.state);
  request.state = ensure->state;
  request.hop(ensure->back, ensure->next);
}

class CreateInternalTopic final : public CatalogChange {
 public:
  CreateInternalTopic(BrokerShard& here, Request& request) : here_(here), request_(request) {}

  void plan(const CatalogReplay& state, MetadataRecords& records) override {
    std::string_view name = static_cast<Ensure*>(request_.state)->name;
    if (state.find(name) != nullptr) return;
    TopicOutcome outcome =
        plan_create_topic(state, here_.config, replica_home(here_), internal_topic(name, here_.config),
                          make_topic_id(here_.shard.io()), records);
    if (outcome.error != proto::ErrorCode::kNone) {
      here_.notices.internal_topic.tell("cannot create {}: {}", name, outcome.message);
    }
  }
  void done(proto::ErrorCode) override { go_back(request_); }

 private:
  BrokerShard& here_;
  Request& request_;
};

void create_on_catalog_shard(BrokerShard& here, Request& request) {
  auto change = std::make_unique<CreateInternalTopic>(here, request);
  if (auto left = here.catalog_writer->submit(std::move(change))) go_back(request);
}

}  // namespace

bool is_internal_topic(std::string_view name) {
  return name == kOffsetsTopic || name == kTransactionsTopic || name == kShareStateTopic;
}

NewTopic internal_topic(std::string_view name, const BrokerConfig& config) {
  NewTopic topic;
  topic.name = name;
  topic.configs = {{"cleanup.policy", "compact"}, {"compression.type", "producer"}};
  if (name == kOffsetsTopic) {
    topic.partitions = config.offsets_topic_num_partitions;
    int32_t segment = config.offsets_topic_segment_bytes;
    constexpr int32_t kLeastSegment = 1 << 20;  // what segment.bytes may be
    topic.configs.emplace_back(segment < kLeastSegment ? "internal.segment.bytes" : "segment.bytes",
                               std::to_string(segment));
  }
  return topic;
}

void ensure_internal_topic(BrokerShard& here, Request& request, std::string_view name,
                           Request::Continue next) {
  if (here.catalog->find(name) != nullptr) return next(here, request);
  Ensure* ensure = request.arena().make<Ensure>();
  *ensure = {name, here.shard.id(), next, request.state};
  request.state = ensure;
  request.hop(kCatalogShard, create_on_catalog_shard);
}

}  // namespace pelton::broker
