#include "broker/catalog/replay_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "broker/catalog/partition_state.h"
#include "broker/catalog/registration.h"
#include "broker/catalog/replay.h"
#include "proto/messages/metadata_records.h"
#include "proto/wire.h"

namespace pelton::broker {

using Outcome = Result<void, std::string>;

namespace {

Outcome no_topic(const Uuid& id) {
  return std::unexpected(fmt::format("there is no topic with id {}", id.to_string()));
}

Outcome no_broker(int32_t id) {
  return std::unexpected(fmt::format("broker {} is not registered", id));
}

}  // namespace

struct RecordAppliers {
  static Outcome apply(CatalogReplay& replay, const proto::TopicRecord& record) {
    if (replay.find(record.name) != nullptr) {
      return std::unexpected(fmt::format("topic {} is there already", record.name));
    }
    if (replay.find(record.topic_id) != nullptr) {
      return std::unexpected(fmt::format("topic id {} is there already", record.topic_id.to_string()));
    }
    auto topic = std::make_shared<TopicInfo>();
    topic->name = record.name;
    topic->id = record.topic_id;
    replay.names_[record.topic_id] = topic->name;
    replay.changed_.insert(record.topic_id);
    replay.topics_.emplace(topic->name, std::move(topic));
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::PartitionRecord& record) {
    TopicInfo* topic = replay.change(record.topic_id);
    if (topic == nullptr) return no_topic(record.topic_id);
    if (record.partition_id < 0) return std::unexpected("the partition's index is negative");
    PartitionInfo info = partition_of(record);
    auto place = std::ranges::lower_bound(topic->partitions, info.index, {}, &PartitionInfo::index);
    if (place != topic->partitions.end() && place->index == info.index) {
      *place = std::move(info);
    } else {
      topic->partitions.insert(place, std::move(info));
    }
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::PartitionChangeRecord& record) {
    TopicInfo* topic = replay.change(record.topic_id);
    if (topic == nullptr) return no_topic(record.topic_id);
    auto info = std::ranges::lower_bound(topic->partitions, record.partition_id, {},
                                         &PartitionInfo::index);
    if (info == topic->partitions.end() || info->index != record.partition_id) {
      return std::unexpected(fmt::format("there is no partition {}-{}", topic->name,
                                         record.partition_id));
    }
    change_partition(*info, record);
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::RemoveTopicRecord& record) {
    auto name = replay.names_.find(record.topic_id);
    if (name == replay.names_.end()) return no_topic(record.topic_id);
    replay.configs_.erase({ConfigResourceType::kTopic, name->second});
    replay.topics_.erase(name->second);
    replay.changed_.erase(record.topic_id);
    replay.names_.erase(name);
    replay.removed_.push_back(record.topic_id);
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::ConfigRecord& record) {
    ConfigResource resource(static_cast<ConfigResourceType>(record.resource_type), record.resource_name);
    ConfigTexts& overrides = replay.configs_[resource];
    if (record.value) {
      overrides[std::string(record.name)] = *record.value;
    } else {
      overrides.erase(std::string(record.name));
    }
    if (overrides.empty()) replay.configs_.erase(resource);
    if (resource.first == ConfigResourceType::kTopic) {
      if (const TopicInfo* topic = replay.find(record.resource_name)) replay.change(topic->id);
      return {};
    }
    replay.shown_configs_.reset();
    if (resource.first == ConfigResourceType::kBroker) replay.broker_config_changed_ = true;
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::FeatureLevelRecord& record) {
    if (record.name == kMetadataVersionFeature && record.feature_level > kMetadataVersion) {
      return std::unexpected(fmt::format("metadata.version {} is newer than this release's, {}",
                                         record.feature_level, kMetadataVersion));
    }
    if (record.feature_level == 0) {
      replay.features_.erase(std::string(record.name));
    } else {
      replay.features_[std::string(record.name)] = record.feature_level;
    }
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::RegisterBrokerRecord& record) {
    BrokerRegistration& broker = replay.brokers_[record.broker_id.value];
    broker = {};
    broker.epoch = record.broker_epoch;
    broker.incarnation = record.incarnation_id;
    broker.fenced = record.fenced;
    broker.in_controlled_shutdown = record.in_controlled_shutdown;
    if (record.rack) broker.rack = *record.rack;
    for (const auto& endpoint : record.end_points) {
      broker.endpoints.push_back(fmt::format("{}://{}:{}", endpoint.name, endpoint.host, endpoint.port));
    }
    broker.log_dirs.assign(record.log_dirs.begin(), record.log_dirs.end());
    if (record.cordoned_log_dirs) {
      broker.cordoned_log_dirs.emplace(record.cordoned_log_dirs->begin(), record.cordoned_log_dirs->end());
    }
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::UnregisterBrokerRecord& record) {
    if (replay.brokers_.erase(record.broker_id.value) == 0) return no_broker(record.broker_id.value);
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::FenceBrokerRecord& record) {
    return set_fenced(replay, record.id.value, true);
  }

  static Outcome apply(CatalogReplay& replay, const proto::UnfenceBrokerRecord& record) {
    return set_fenced(replay, record.id.value, false);
  }

  static Outcome apply(CatalogReplay& replay, const proto::BrokerRegistrationChangeRecord& record) {
    auto found = replay.brokers_.find(record.broker_id.value);
    if (found == replay.brokers_.end()) return no_broker(record.broker_id.value);
    BrokerRegistration& broker = found->second;
    if (record.fenced != 0) broker.fenced = record.fenced > 0;
    if (record.in_controlled_shutdown != 0) {
      broker.in_controlled_shutdown = record.in_controlled_shutdown > 0;
    }
    if (!record.log_dirs.empty()) broker.log_dirs.assign(record.log_dirs.begin(), record.log_dirs.end());
    if (record.cordoned_log_dirs) {
      broker.cordoned_log_dirs.emplace(record.cordoned_log_dirs->begin(), record.cordoned_log_dirs->end());
    }
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::ProducerIdsRecord& record) {
    if (record.next_producer_id < replay.next_producer_id_) {
      return std::unexpected(fmt::format("the next producer id goes back from {} to {}",
                                         replay.next_producer_id_, record.next_producer_id));
    }
    replay.next_producer_id_ = record.next_producer_id;
    return {};
  }

  static Outcome set_fenced(CatalogReplay& replay, int32_t id, bool fenced) {
    auto found = replay.brokers_.find(id);
    if (found == replay.brokers_.end()) return no_broker(id);
    found->second.fenced = fenced;
    return {};
  }

  static Outcome apply(CatalogReplay& replay, const proto::ClearElrRecord& record) {
    std::vector<Uuid> topics;
    for (const auto& [name, topic] : replay.topics_) {
      if (record.topic_name.empty() || name == record.topic_name) topics.push_back(topic->id);
    }
    if (topics.empty() && !record.topic_name.empty()) {
      return std::unexpected(fmt::format("there is no topic {}", record.topic_name));
    }
    for (Uuid id : topics) {
      for (PartitionInfo& partition : replay.change(id)->partitions) clear_eligible_replicas(partition);
    }
    return {};
  }

  static Outcome apply(CatalogReplay&, const proto::NoOpRecord&) { return {}; }

  // Quotas, users, tokens, access control, controllers: nothing here acts on them.
  template <class T>
  static Outcome keep(CatalogReplay& replay, const T& record, Bytes whole) {
    replay.kept_.apply(record, whole);
    return {};
  }

  static void keep_registration(CatalogReplay& replay, int32_t id, const MetadataFrame& frame) {
    BrokerRegistration& broker = replay.brokers_[id];
    broker.version = frame.version;
    broker.record.assign(frame.body.begin(), frame.body.end());
  }
};

namespace {

template <class T>
Outcome decode_and_apply(CatalogReplay& replay, const MetadataFrame& frame, proto::Arena& arena) {
  if (frame.version < T::kMinVersion || frame.version > T::kMaxVersion) {
    return std::unexpected(fmt::format("version {} of record type {} is unknown; the directory was "
                                       "written by a newer release",
                                       frame.version, frame.type));
  }
  arena.reset(proto::Arena::limit_for(frame.body.size()));
  proto::WireReader in(frame.body, arena);
  T record;
  record.decode(in, frame.version);
  if (!in.ok() || in.left() != 0) {
    return std::unexpected(fmt::format("record type {} cannot be read: {}", frame.type,
                                       in.ok() ? "bytes are left over" : proto::name(in.error())));
  }
  if constexpr (requires { RecordAppliers::apply(replay, record); }) {
    Outcome done = RecordAppliers::apply(replay, record);
    if constexpr (std::is_same_v<T, proto::RegisterBrokerRecord>) {
      if (done) RecordAppliers::keep_registration(replay, record.broker_id.value, frame);
    }
    return done;
  } else {
    return RecordAppliers::keep(replay, record, frame.whole);
  }
}

using Apply = Outcome (*)(CatalogReplay&, const MetadataFrame&, proto::Arena&);
struct RecordType {
  uint32_t type;
  Apply apply;
};

template <class T>
constexpr RecordType row() {
  return {static_cast<uint32_t>(T::kRecordType), decode_and_apply<T>};
}

// Begin, end and abort of transactions (23 to 25) are CatalogReplay's own.
constexpr RecordType kRecordTypes[] = {
    row<proto::RegisterBrokerRecord>(),
    row<proto::UnregisterBrokerRecord>(),
    row<proto::TopicRecord>(),
    row<proto::PartitionRecord>(),
    row<proto::ConfigRecord>(),
    row<proto::PartitionChangeRecord>(),
    row<proto::FenceBrokerRecord>(),
    row<proto::UnfenceBrokerRecord>(),
    row<proto::RemoveTopicRecord>(),
    row<proto::DelegationTokenRecord>(),
    row<proto::UserScramCredentialRecord>(),
    row<proto::FeatureLevelRecord>(),
    row<proto::ClientQuotaRecord>(),
    row<proto::ProducerIdsRecord>(),
    row<proto::BrokerRegistrationChangeRecord>(),
    row<proto::AccessControlEntryRecord>(),
    row<proto::RemoveAccessControlEntryRecord>(),
    row<proto::NoOpRecord>(),
    row<proto::ZkMigrationStateRecord>(),
    row<proto::RemoveUserScramCredentialRecord>(),
    row<proto::RemoveDelegationTokenRecord>(),
    row<proto::RegisterControllerRecord>(),
    row<proto::ClearElrRecord>(),
    row<proto::UnregisterControllerRecord>(),
};

}  // namespace

Outcome apply_record(CatalogReplay& replay, const MetadataFrame& frame, proto::Arena& arena) {
  auto found = std::ranges::find(kRecordTypes, frame.type, &RecordType::type);
  if (found == std::end(kRecordTypes)) {
    return std::unexpected(fmt::format("record type {} is unknown; the directory was written by a newer "
                                       "release",
                                       frame.type));
  }
  return found->apply(replay, frame, arena);
}

}  // namespace pelton::broker
