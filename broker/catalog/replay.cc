#include "broker/catalog/replay.h"

#include <utility>

#include <fmt/format.h>

#include "broker/catalog/internal_topics.h"
#include "broker/catalog/placement.h"
#include "broker/catalog/replay_records.h"
#include "broker/config/dynamic_config.h"
#include "broker/config/topic_keys.h"
#include "proto/batch_builder.h"
#include "proto/messages/metadata_records.h"
#include "reactor/base/log.h"

namespace pelton::broker {
namespace {

// Records of one metadata transaction that are kept until its end.
constexpr size_t kMaxTransactionRecords = 1'000'000;

template <class T>
bool is(const MetadataFrame& frame) {
  return frame.type == static_cast<uint32_t>(T::kRecordType);
}

std::unexpected<std::string> at(int64_t offset, std::string_view what) {
  return std::unexpected(fmt::format("metadata offset {}: {}", offset, what));
}

}  // namespace

CatalogReplay::CatalogReplay(int shards, const BrokerConfig& config)
    : shards_(shards),
      from_files_(config),
      broker_config_(std::make_shared<BrokerConfig>(config)),
      arena_(proto::Arena::limit_for(0)) {
  CHECK(shards > 0);
}

CatalogReplay::~CatalogReplay() = default;

const TopicInfo* CatalogReplay::find(std::string_view topic) const {
  auto found = topics_.find(topic);
  return found == topics_.end() ? nullptr : found->second.get();
}

const TopicInfo* CatalogReplay::find(Uuid topic) const {
  auto found = names_.find(topic);
  return found == names_.end() ? nullptr : find(found->second);
}

const BrokerRegistration* CatalogReplay::broker(int32_t id) const {
  auto found = brokers_.find(id);
  return found == brokers_.end() ? nullptr : &found->second;
}

TopicInfo* CatalogReplay::change(Uuid topic) {
  auto name = names_.find(topic);
  if (name == names_.end()) return nullptr;
  std::shared_ptr<TopicInfo>& info = topics_.find(name->second)->second;
  if (changed_.insert(topic).second) info = std::make_shared<TopicInfo>(*info);
  return info.get();
}

CatalogReplay::Outcome CatalogReplay::apply_batch(Bytes bytes) {
  auto batch = proto::validate(bytes, {.origin = proto::BatchOrigin::kLog, .check_crc = true});
  if (!batch) return at(end_offset_, proto::to_string(batch.error()));
  if (!batch->control()) {
    if (batch->codec() != proto::Codec::kNone) {
      return at(batch->base_offset(), "metadata records are never compressed");
    }
    proto::RecordIterator records = batch->records();
    proto::RecordView record;
    while (records.next(record)) {
      int64_t offset = batch->offset_of(record);
      if (!record.value) return at(offset, "the record has no value");
      if (auto done = apply(*record.value, offset); !done) return done;
    }
    if (auto status = records.status(); !status) {
      return at(batch->base_offset(), proto::to_string(status.error()));
    }
  }
  if (batch->control()) apply_control(*batch);
  last_timestamp_ = std::max(last_timestamp_, batch->max_timestamp());
  end_offset_ = batch->next_offset();
  last_leader_epoch_ = std::max(last_leader_epoch_, batch->partition_leader_epoch());
  return {};
}

void CatalogReplay::apply_control(const proto::BatchView& batch) {
  proto::RecordIterator records = batch.records();
  proto::RecordView record;
  while (records.next(record)) {
    auto type = record.key ? proto::control_type(*record.key) : std::nullopt;
    if (!type || !record.value) continue;
    if (*type == static_cast<int16_t>(proto::ControlType::kKraftVersion)) {
      kraft_version_.assign(record.value->begin(), record.value->end());
    } else if (*type == static_cast<int16_t>(proto::ControlType::kKraftVoters)) {
      voters_.assign(record.value->begin(), record.value->end());
    }
  }
}

CatalogReplay::Outcome CatalogReplay::apply(Bytes value, int64_t offset) {
  auto frame = read_metadata_frame(value);
  if (!frame) return at(offset, frame.error());
  if (is<proto::BeginTransactionRecord>(*frame)) {
    if (in_transaction_) return at(offset, "a transaction begins inside another");
    in_transaction_ = true;
    return {};
  }
  bool ends = is<proto::EndTransactionRecord>(*frame);
  if (ends || is<proto::AbortTransactionRecord>(*frame)) {
    if (!in_transaction_) return at(offset, "a transaction ends that never began");
    in_transaction_ = false;
    auto records = std::exchange(transaction_, {});
    if (!ends) return {};
    for (const auto& [inner_offset, bytes] : records) {
      if (auto done = apply(bytes, inner_offset); !done) return done;
    }
    return {};
  }
  if (!in_transaction_) return apply_frame(*frame, offset);
  if (transaction_.size() == kMaxTransactionRecords) return at(offset, "the transaction is too long");
  transaction_.emplace_back(offset, std::vector<uint8_t>(value.begin(), value.end()));
  return {};
}

CatalogReplay::Outcome CatalogReplay::apply_frame(const MetadataFrame& frame, int64_t offset) {
  if (auto done = apply_record(*this, frame, arena_); !done) return at(offset, done.error());
  return {};
}

CatalogReplay::Outcome CatalogReplay::check_complete() const {
  for (const auto& [name, topic] : topics_) {
    for (size_t i = 0; i < topic->partitions.size(); ++i) {
      if (topic->partitions[i].index != static_cast<int32_t>(i)) {
        return std::unexpected(fmt::format("topic {} has no partition {} but later ones", name, i));
      }
    }
  }
  return {};
}

const ConfigTexts& CatalogReplay::config(ConfigResourceType type, const std::string& name) const {
  static const ConfigTexts kNone;
  auto found = configs_.find({type, name});
  return found == configs_.end() ? kNone : found->second;
}

std::shared_ptr<const BrokerConfig> CatalogReplay::broker_config(
    std::vector<std::string>* left_out) const {
  if (!broker_config_changed_) return broker_config_;
  return std::make_shared<BrokerConfig>(
      with_dynamic(from_files_, config(ConfigResourceType::kBroker, ""),
                   config(ConfigResourceType::kBroker, std::to_string(from_files_.node_id)), left_out));
}

void CatalogReplay::use_broker_config() {
  if (!broker_config_changed_) return;
  std::vector<std::string> left_out;
  std::shared_ptr<const BrokerConfig> before = broker_config_;
  broker_config_ = broker_config(&left_out);
  broker_config_changed_ = false;
  if (left_out != left_out_) {
    for (const std::string& why : left_out) log_warn("{}", why);
    left_out_ = std::move(left_out);
  }
  if (broker_config_->log_defaults == before->log_defaults) return;
  for (const auto& [name, topic] : topics_) {
    if (!(topic_log_config(broker_config_->log_defaults, topic->config) == topic->log_config)) {
      change(topic->id);
    }
  }
}

void CatalogReplay::refresh(TopicInfo& topic) const {
  topic.config = config(ConfigResourceType::kTopic, topic.name);
  topic.log_config = topic_log_config(broker_config_->log_defaults, topic.config);
  topic.internal = is_internal_topic(topic.name);
  for (PartitionInfo& partition : topic.partitions) {
    partition.shard = shard_of(topic.name, partition.index, shards_);
  }
}

// Brings the changed topics up to date on the way.
void CatalogReplay::note_changes(CatalogSnapshot& snapshot) {
  for (Uuid id : changed_) {
    auto name = names_.find(id);
    if (name == names_.end()) continue;
    const std::shared_ptr<TopicInfo>& topic = topics_.find(name->second)->second;
    refresh(*topic);
    snapshot.changed_.push_back(topic);
  }
  changed_.clear();
  snapshot.previous_ = last_snapshot_.get();
  for (Uuid id : std::exchange(removed_, {})) {
    if (last_snapshot_ == nullptr) break;
    // One that came and went since is in neither.
    auto old = last_snapshot_->by_id_.find(id);
    if (old != last_snapshot_->by_id_.end()) snapshot.removed_.push_back(old->second);
  }
}

std::shared_ptr<const CatalogSnapshot> CatalogReplay::snapshot() {
  use_broker_config();
  auto snapshot = std::make_shared<CatalogSnapshot>();
  note_changes(*snapshot);
  for (const auto& [name, topic] : topics_) {
    snapshot->by_name_.emplace_hint(snapshot->by_name_.end(), name, topic);
    snapshot->by_id_.emplace(topic->id, topic);
  }
  snapshot->features_ = features_;
  snapshot->broker_config_ = broker_config_;
  if (shown_configs_ == nullptr) {
    auto shown = std::make_shared<ResourceConfigs>();
    for (const auto& [resource, texts] : configs_) {
      if (resource.first != ConfigResourceType::kTopic) shown->emplace_hint(shown->end(), resource, texts);
    }
    shown_configs_ = std::move(shown);
  }
  snapshot->configs_ = shown_configs_;
  snapshot->end_offset_ = end_offset_;
  last_snapshot_ = snapshot;
  return snapshot;
}

}  // namespace pelton::broker
