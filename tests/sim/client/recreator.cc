#include "tests/sim/client/recreator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/error_code.h"
#include "proto/messages/create_topics.h"
#include "proto/messages/delete_topics.h"
#include "proto/messages/fetch.h"
#include "proto/messages/offset_commit.h"
#include "proto/messages/produce.h"
#include "tests/sim/client/committed_offset.h"
#include "tests/sim/client/records.h"

namespace pelton::sim {

using proto::ErrorCode;

namespace {

constexpr int16_t kCreateVersion = 7;
constexpr int16_t kMetadataVersion = 12;
constexpr int16_t kDeleteVersion = 5;  // by name
constexpr int16_t kProduceVersion = 9;
constexpr int16_t kFetchVersion = 12;

}  // namespace

Recreator::Recreator(Context& context, std::string name)
    : Client(context, name), group_(name + "-group") {}

void Recreator::work() { next(); }

void Recreator::next() {
  later(world_.latency(20 * kMilli, kSecond), [this] {
    if (!context_.producing) return;
    switch (stage_) {
      case Stage::kCreating:
        return create();
      case Stage::kUsing:
        return use();
      case Stage::kDeleting:
        return remove();
      case Stage::kDeleted:
        if (world_.chance(0.5)) return describe();
        ++incarnation_;
        stage_ = Stage::kCreating;
        return create();
    }
  });
}

bool Recreator::try_again(int16_t code, const char* what) {
  auto error = static_cast<ErrorCode>(code);
  if (error == ErrorCode::kNone) return false;
  bool passes = error == ErrorCode::kCoordinatorLoadInProgress || error == ErrorCode::kNotCoordinator ||
                error == ErrorCode::kCoordinatorNotAvailable ||
                (context_.disk_fails && (error == ErrorCode::kKafkaStorageError ||
                                         error == ErrorCode::kNotController));
  if (!passes) bug(fmt::format("{}: unexpected error {}, incarnation {}", what, code, incarnation_));
  restart();
  return true;
}

// ---------------------------------------------------------------- its life

void Recreator::create() {
  proto::CreateTopicsRequest::CreatableTopicConfig config;
  config.name = "flush.messages";
  config.value = "1";
  proto::CreateTopicsRequest::CreatableTopic topic;
  topic.name = name();
  topic.num_partitions = 1;
  topic.replication_factor = 1;
  topic.configs = {&config, 1};
  proto::CreateTopicsRequest request;
  request.topics = {&topic, 1};
  link_.call(request, kCreateVersion, [this](proto::WireReader& in) {
    proto::CreateTopicsResponse response;
    if (!link_.decode(in, kCreateVersion, response)) return;
    if (response.topics.size() != 1) return bug("a CreateTopics answer of other topics");
    auto error = static_cast<ErrorCode>(response.topics[0].error_code);
    // An earlier attempt, whose answer was lost.
    if (error == ErrorCode::kTopicAlreadyExists) return describe();
    if (!try_again(response.topics[0].error_code, "CreateTopics")) created(response.topics[0].topic_id);
  });
}

void Recreator::describe() {
  proto::MetadataRequest::MetadataRequestTopic topic;
  topic.name = name();
  proto::MetadataRequest request;
  request.topics = {&topic, 1};
  request.allow_auto_topic_creation = false;
  link_.call(request, kMetadataVersion, [this](proto::WireReader& in) {
    proto::MetadataResponse response;
    if (link_.decode(in, kMetadataVersion, response)) on_described(response);
  });
}

void Recreator::on_described(const proto::MetadataResponse& response) {
  if (response.topics.size() != 1) return bug("a Metadata answer of other topics");
  auto error = static_cast<ErrorCode>(response.topics[0].error_code);
  bool there = error == ErrorCode::kNone;
  if (!there && error != ErrorCode::kUnknownTopicOrPartition)
    return bug(fmt::format("Metadata: unexpected error {}", response.topics[0].error_code));
  if (stage_ == Stage::kDeleted && there) return bug("a deleted topic is there");
  if (stage_ == Stage::kUsing && !there) return bug("its topic is gone");
  if (stage_ == Stage::kUsing && response.topics[0].topic_id != id_) return bug("its topic has another id");
  // What CreateTopics called existing may not be there when the power went away before it was committed.
  if (stage_ == Stage::kCreating && there) return created(response.topics[0].topic_id);
  next();
}

void Recreator::created(Uuid id) {
  if (std::ranges::find(former_ids_, id) != former_ids_.end())
    return bug(fmt::format("incarnation {} has the id of a former one", incarnation_));
  former_ids_.push_back(id);
  id_ = id;
  produced_ = 0;
  stage_ = Stage::kUsing;
  world_.trace("topic made again", incarnation_);
  if (world_.chance(0.5)) return fetch();
  next();
}

void Recreator::use() {
  uint64_t what = world_.below(100);
  if (what < 30) return produce();
  if (what < 50) return read();
  if (what < 65) return commit();
  if (what < 80)
    return fetch();
  if (what < 90) return describe();
  stage_ = Stage::kDeleting;
  remove();
}

void Recreator::remove() {
  std::string_view topic = name();
  proto::DeleteTopicsRequest request;
  request.topic_names = {&topic, 1};
  request.timeout_ms = 10'000;
  link_.call(request, kDeleteVersion, [this](proto::WireReader& in) {
    proto::DeleteTopicsResponse response;
    if (!link_.decode(in, kDeleteVersion, response)) return;
    if (response.responses.size() != 1) return bug("a DeleteTopics answer of other topics");
    auto error = static_cast<ErrorCode>(response.responses[0].error_code);
    // An earlier attempt, whose answer was lost.
    if (error == ErrorCode::kUnknownTopicOrPartition) return removed();
    if (!try_again(response.responses[0].error_code, "DeleteTopics")) removed();
  });
}

void Recreator::removed() {
  stage_ = Stage::kDeleted;
  model_.forget_commits(offset_name(group_, name(), 0));
  next();
}

// ---------------------------------------------------------------- records and offsets

void Recreator::produce() {
  proto::BatchBuilder builder;
  RecordId id{UINT32_MAX, incarnation_, produced_++};
  std::vector<uint8_t> value = record_value(id, world_.latency(0, 5'000));
  builder.append(world_.wall_ms(), std::nullopt, Bytes(value));
  std::vector<uint8_t> batch;
  if (!builder.build(batch)) return bug("cannot build a batch");
  proto::ProduceRequest::PartitionProduceData data{0, proto::Records::of(batch)};
  proto::ProduceRequest::TopicProduceData to;
  to.name = name();
  to.partition_data = {&data, 1};
  proto::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 30'000;
  request.topic_data = {&to, 1};
  link_.call(request, kProduceVersion, [this](proto::WireReader& in) {
    proto::ProduceResponse response;
    if (!link_.decode(in, kProduceVersion, response)) return;
    if (response.responses.size() != 1 || response.responses[0].partition_responses.size() != 1)
      return bug("a Produce answer of other partitions");
    if (!try_again(response.responses[0].partition_responses[0].error_code, "Produce")) next();
  });
}

void Recreator::read() {
  proto::FetchRequest::FetchPartition part;
  part.fetch_offset = 0;
  part.partition_max_bytes = 1 << 20;
  proto::FetchRequest::FetchTopic from;
  from.topic = name();
  from.partitions = {&part, 1};
  proto::FetchRequest request;
  request.max_bytes = 1 << 20;
  request.topics = {&from, 1};
  link_.call(request, kFetchVersion, [this](proto::WireReader& in) {
    proto::FetchResponse response;
    if (!link_.decode(in, kFetchVersion, response)) return;
    if (response.error_code != 0 || response.responses.size() != 1 ||
        response.responses[0].partitions.size() != 1)
      return bug("a Fetch answer of other partitions");
    const auto& data = response.responses[0].partitions[0];
    if (try_again(data.error_code, "Fetch")) return;
    auto batches = read_batches(data.records.bytes);
    if (!batches) return bug(batches.error());
    for (const FetchedBatch& batch : *batches) {
      for (const RecordId& id : batch.records) {
        if (id.partition != incarnation_)
          return bug(fmt::format("a record of incarnation {} in incarnation {}", id.partition, incarnation_));
      }
    }
    next();
  });
}

void Recreator::fetch() {
  fetch_committed(link_, context_, group_, name(), 0, [this](int16_t error) {
    if (!try_again(error, "OffsetFetch")) next();
  });
}

void Recreator::commit() {
  auto version = static_cast<int16_t>(world_.between(5, 9));
  std::string known_as = offset_name(group_, name(), 0);
  int64_t offset = context_.next_offset++;
  proto::OffsetCommitRequest::OffsetCommitRequestPartition partition;
  partition.committed_offset = offset;
  proto::OffsetCommitRequest::OffsetCommitRequestTopic topic;
  topic.name = name();
  topic.partitions = {&partition, 1};
  proto::OffsetCommitRequest request;
  request.group_id = group_;
  request.topics = {&topic, 1};
  model_.commit_tried(known_as, offset);
  link_.call(request, version, [this, version, known_as, offset](proto::WireReader& in) {
    proto::OffsetCommitResponse response;
    if (!link_.decode(in, version, response)) return;
    if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1)
      return bug("an OffsetCommit answer of other partitions");
    if (try_again(response.topics[0].partitions[0].error_code, "OffsetCommit")) return;
    model_.commit_acked(known_as, offset);
    next();
  });
}

}  // namespace pelton::sim
