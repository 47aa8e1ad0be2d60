#include "broker/catalog/snapshot_records.h"

#include <utility>

#include "broker/catalog/partition_state.h"
#include "broker/catalog/registration.h"
#include "broker/catalog/topic_changes.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

// The record that registered the broker, with what has changed since.
void add_broker(const BrokerRegistration& broker, MetadataRecords& records) {
  proto::Arena arena(proto::Arena::limit_for(broker.record.size()));
  std::vector<uint8_t> bytes = broker.record;
  proto::WireReader in(bytes, arena);
  proto::RegisterBrokerRecord record;
  record.decode(in, broker.version);
  CHECK(in.ok(), "it was replayed");
  constexpr int16_t kWithShutdown = 1, kWithLogDirs = 3, kWithCordonedDirs = 4;
  std::vector<Uuid> log_dirs = broker.log_dirs;
  std::vector<Uuid> cordoned = broker.cordoned_log_dirs.value_or(std::vector<Uuid>());
  record.fenced = broker.fenced;
  if (broker.version >= kWithShutdown) record.in_controlled_shutdown = broker.in_controlled_shutdown;
  if (broker.version >= kWithLogDirs) record.log_dirs = log_dirs;
  if (broker.version >= kWithCordonedDirs && broker.cordoned_log_dirs) record.cordoned_log_dirs = cordoned;
  records.add(record, broker.version);
}

void add_feature(std::string_view name, int16_t level, MetadataRecords& records) {
  records.add(proto::FeatureLevelRecord{.name = name, .feature_level = level});
}

// Adds `from` from `at` on; whether all of it is there now.
bool copy_records(const MetadataRecords& from, size_t& at, MetadataRecords& to, size_t max_bytes) {
  while (at < from.count() && to.bytes() < max_bytes) to.add_value(from.value(at++));
  return at == from.count();
}

}  // namespace

SnapshotRecords::SnapshotRecords(const CatalogReplay& state,
                                 std::shared_ptr<const CatalogSnapshot> snapshot)
    : snapshot_(std::move(snapshot)),
      partition_version_(partition_record_version(state)),
      topic_(snapshot_->topics().begin()) {
  add_before_topics(state);
  add_after_topics(state);
}

// metadata.version comes first: it says how the others are to be read.
void SnapshotRecords::add_before_topics(const CatalogReplay& state) {
  const auto& features = state.features();
  auto version = features.find(kMetadataVersionFeature);
  if (version != features.end()) add_feature(version->first, version->second, before_);
  for (const auto& [name, level] : features) {
    if (name != kMetadataVersionFeature) add_feature(name, level, before_);
  }
  for (const auto& [id, broker] : state.brokers()) add_broker(broker, before_);
}

void SnapshotRecords::add_after_topics(const CatalogReplay& state) {
  for (const auto& [resource, texts] : state.configs()) {
    for (const auto& [name, text] : texts) {
      proto::ConfigRecord record{.resource_type = static_cast<int8_t>(resource.first),
                                 .resource_name = resource.second, .name = name, .value = std::nullopt};
      record.value = text;
      after_.add(record);
    }
  }
  if (state.next_producer_id() > 0) {
    proto::ProducerIdsRecord record;
    record.broker_id = proto::BrokerId(-1);
    record.next_producer_id = state.next_producer_id();
    after_.add(record);
  }
  state.kept().add_all(after_);
}

// One record of the topic that is next. False: there is none.
bool SnapshotRecords::next_of_topics(MetadataRecords& records) {
  while (topic_ != snapshot_->topics().end()) {
    const TopicInfo& topic = *topic_->second;
    if (!topic_begun_) {
      topic_begun_ = true;
      records.add(proto::TopicRecord{.name = topic.name, .topic_id = topic.id});
      return true;
    }
    if (partition_at_ < topic.partitions.size()) {
      add_partition_record(topic, topic.partitions[partition_at_++], partition_version_, records);
      return true;
    }
    ++topic_;
    topic_begun_ = false;
    partition_at_ = 0;
  }
  return false;
}

bool SnapshotRecords::next(MetadataRecords& records, size_t max_bytes) {
  if (copy_records(before_, before_at_, records, max_bytes)) {
    while (records.bytes() < max_bytes && next_of_topics(records)) {}
    if (records.bytes() < max_bytes) copy_records(after_, after_at_, records, max_bytes);
  }
  return !records.empty();
}

}  // namespace pelton::broker
