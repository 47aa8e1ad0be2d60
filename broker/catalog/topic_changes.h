// Planning of topic changes: what is asked, held against the catalog's state, gives metadata records or
// an error code. Pure functions of their arguments, with Apache Kafka's rules and codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"
#include "broker/config/broker_config.h"
#include "broker/config/topic_keys.h"
#include "proto/error_code.h"

namespace pelton::broker {

// Partitions that one request may add.
inline constexpr int64_t kMaxPartitionsPerRequest = 10'000;

// The node that becomes every partition's only replica.
struct ReplicaHome {
  int32_t node_id = 1;
  Uuid directory;
};

ReplicaHome replica_home(const BrokerShard& here);

struct ManualAssignment {
  int32_t partition = 0;
  std::vector<int32_t> brokers;
};

struct NewTopic {
  std::string name;
  int32_t partitions = -1;          // -1: the broker's default
  int16_t replication_factor = -1;  // -1: the broker's default
  std::vector<ManualAssignment> assignments;
  std::vector<std::pair<std::string, std::optional<std::string>>> configs;
};

struct TopicOutcome {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::string message;  // empty without an error
  Uuid id;
  int32_t partitions = -1;
  int32_t added_partitions = 0;
  int16_t replication_factor = -1;
  TopicOverrides config;
};

TopicOutcome refuse_topic(proto::ErrorCode error, std::string message);

TopicOutcome plan_create_topic(const CatalogReplay& state, const BrokerConfig& defaults,
                               const ReplicaHome& home, const NewTopic& topic, Uuid id,
                               MetadataRecords& records);

// `assignments`: nullopt, or one broker list for each added partition.
TopicOutcome plan_create_partitions(
    const CatalogReplay& state, const ReplicaHome& home, std::string_view topic, int32_t count,
    const std::optional<std::vector<std::vector<int32_t>>>& assignments, MetadataRecords& records);

// `topic` is in the state.
TopicOutcome plan_delete_topic(const TopicInfo& topic, MetadataRecords& records);

// Why the name is none for a topic; empty when it is one.
std::string check_topic_name(std::string_view name);

// The record version of partitions that goes with the finalized features.
int16_t partition_record_version(const CatalogReplay& state);

// A random id that is none of the reserved ones (0 to 99).
Uuid make_topic_id(Io& io);

}  // namespace pelton::broker
