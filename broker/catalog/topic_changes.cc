#include "broker/catalog/topic_changes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "broker/catalog/internal_topics.h"
#include "broker/config/config_size.h"
#include "proto/messages/metadata_records.h"

namespace pelton::broker {
namespace {

using proto::ErrorCode;

// '.' and '_' look the same in metric names, so Kafka lets only one of two such names exist.
bool collides(std::string_view a, std::string_view b) {
  return a != b && std::ranges::equal(a, b, [](char x, char y) {
           return (x == '.' ? '_' : x) == (y == '.' ? '_' : y);
         });
}

const TopicInfo* colliding_topic(const CatalogReplay& state, std::string_view name) {
  if (name.find_first_of("._") == std::string_view::npos) return nullptr;
  for (const auto& [other, topic] : state.topics()) {
    if (collides(name, other)) return topic.get();
  }
  return nullptr;
}

std::string check_brokers(const std::vector<int32_t>& brokers, int32_t node_id, int32_t partition) {
  if (brokers.empty()) return fmt::format("partition {} is assigned to no broker", partition);
  for (size_t i = 0; i < brokers.size(); ++i) {
    if (std::count(brokers.begin(), brokers.begin() + static_cast<std::ptrdiff_t>(i), brokers[i]) > 0) {
      return fmt::format("partition {} is assigned to broker {} twice", partition, brokers[i]);
    }
    if (brokers[i] != node_id) {
      return fmt::format("partition {} is assigned to broker {}, which is not registered", partition,
                         brokers[i]);
    }
  }
  return {};
}

// Fills partitions and replication factor from the manual assignment.
TopicOutcome take_assignments(const NewTopic& topic, const ReplicaHome& home) {
  if (topic.replication_factor != -1) {
    return refuse_topic(ErrorCode::kInvalidRequest,
                        "with a manual assignment the replication factor must be -1");
  }
  if (topic.partitions != -1) {
    return refuse_topic(ErrorCode::kInvalidRequest,
                        "with a manual assignment the number of partitions must be -1");
  }
  std::set<int32_t> indexes;
  for (const ManualAssignment& assignment : topic.assignments) {
    if (!indexes.insert(assignment.partition).second) {
      return refuse_topic(ErrorCode::kInvalidReplicaAssignment,
                          fmt::format("partition {} is assigned more than once", assignment.partition));
    }
    std::string wrong = check_brokers(assignment.brokers, home.node_id, assignment.partition);
    if (!wrong.empty()) return refuse_topic(ErrorCode::kInvalidReplicaAssignment, std::move(wrong));
  }
  if (*indexes.begin() != 0 || *indexes.rbegin() != static_cast<int32_t>(indexes.size()) - 1) {
    return refuse_topic(ErrorCode::kInvalidReplicaAssignment,
                        "partitions must be numbered from 0 without a gap");
  }
  TopicOutcome outcome;
  outcome.partitions = static_cast<int32_t>(indexes.size());
  outcome.replication_factor = 1;
  return outcome;
}

TopicOutcome take_counts(const NewTopic& topic, const BrokerConfig& defaults) {
  if (topic.replication_factor < -1 || topic.replication_factor == 0) {
    return refuse_topic(ErrorCode::kInvalidReplicationFactor,
                        "the replication factor must be larger than 0, or -1 for the default");
  }
  if (topic.partitions < -1 || topic.partitions == 0) {
    return refuse_topic(ErrorCode::kInvalidPartitions,
                        "the number of partitions must be larger than 0, or -1 for the default");
  }
  if (topic.replication_factor > 1) {
    return refuse_topic(ErrorCode::kInvalidReplicationFactor,
                        fmt::format("replication factor {} cannot be reached: 1 broker is registered",
                                    topic.replication_factor));
  }
  TopicOutcome outcome;
  outcome.partitions = topic.partitions == -1 ? defaults.num_partitions : topic.partitions;
  outcome.replication_factor = 1;
  return outcome;
}

// The topic's overrides, checked; the message is empty when they are sound.
std::string take_configs(const NewTopic& topic, TopicOverrides& overrides) {
  for (const auto& [name, value] : topic.configs) {
    if (!value) return fmt::format("{} has no value", name);
    overrides[name] = *value;
  }
  if (std::string wrong = check_config_size({}, overrides); !wrong.empty()) return wrong;
  auto checked = check_topic_overrides(overrides);
  return checked ? std::string() : checked.error();
}

void add_partitions(const ReplicaHome& home, Uuid topic, int32_t first, int32_t end, int16_t version,
                    MetadataRecords& records) {
  proto::BrokerId replica(home.node_id);
  int32_t in_sync = home.node_id;
  Uuid directory = home.directory;
  proto::PartitionRecord record;
  record.topic_id = topic;
  record.replicas = {&replica, 1};
  record.isr = {&in_sync, 1};
  record.leader = replica;
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  record.directories = {&directory, 1};
  for (int32_t index = first; index < end; ++index) {
    record.partition_id = index;
    records.add(record, version);
  }
}

}  // namespace

TopicOutcome refuse_topic(ErrorCode error, std::string message) {
  TopicOutcome outcome;
  outcome.error = error;
  outcome.message = std::move(message);
  return outcome;
}

ReplicaHome replica_home(const BrokerShard& here) {
  return {.node_id = here.config.node_id, .directory = here.log_dir.directory_id()};
}

std::string check_topic_name(std::string_view name) {
  constexpr size_t kLongest = 249;
  if (name.empty()) return "a topic's name must not be empty";
  if (name == "." || name == "..") return "a topic's name must not be . or ..";
  if (name.size() > kLongest) return "a topic's name has at most 249 characters";
  auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (!std::ranges::all_of(name, legal)) {
    return "a topic's name has only letters, digits, '.', '_' and '-'";
  }
  return {};
}

int16_t partition_record_version(const CatalogReplay& state) {
  auto level = [&](std::string_view feature) {
    auto found = state.features().find(feature);
    return found == state.features().end() ? int16_t{0} : found->second;
  };
  constexpr int16_t kDirectoriesFrom = 17, kEligibleReplicasFrom = 23;  // of metadata.version
  int16_t metadata = level("metadata.version");
  return metadata >= kEligibleReplicasFrom ? 2 : metadata >= kDirectoriesFrom ? 1 : 0;
}

Uuid make_topic_id(Io& io) {
  Uuid id;
  uint64_t halves[2] = {io.random(), io.random()};
  std::memcpy(id.bytes.data(), halves, sizeof halves);
  // As Kafka's ids: version 4, and no '-' at the front, which command lines would take for an option.
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0F) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3F) | 0x80);
  constexpr uint8_t kFirstCharacterIsDash = 0xF8;
  if ((id.bytes[0] & 0xFC) == kFirstCharacterIsDash) id.bytes[0] ^= 0x80;
  return id;
}

TopicOutcome plan_create_topic(const CatalogReplay& state, const BrokerConfig& defaults,
                               const ReplicaHome& home, const NewTopic& topic, Uuid id,
                               MetadataRecords& records) {
  if (std::string wrong = check_topic_name(topic.name); !wrong.empty()) {
    return refuse_topic(ErrorCode::kInvalidTopicException, std::move(wrong));
  }
  if (const TopicInfo* other = colliding_topic(state, topic.name)) {
    return refuse_topic(ErrorCode::kInvalidTopicException,
                        fmt::format("topic {} collides with topic {}", topic.name, other->name));
  }
  if (state.find(topic.name) != nullptr) {
    return refuse_topic(ErrorCode::kTopicAlreadyExists, fmt::format("topic {} exists", topic.name));
  }
  TopicOverrides overrides;
  if (std::string wrong = take_configs(topic, overrides); !wrong.empty()) {
    return refuse_topic(ErrorCode::kInvalidConfig, std::move(wrong));
  }
  TopicOutcome outcome =
      topic.assignments.empty() ? take_counts(topic, defaults) : take_assignments(topic, home);
  if (outcome.error != ErrorCode::kNone) return outcome;
  if (outcome.partitions > kMaxPartitionsPerRequest) {
    return refuse_topic(ErrorCode::kPolicyViolation,
                        fmt::format("a request adds at most {} partitions", kMaxPartitionsPerRequest));
  }
  outcome.id = id;
  outcome.added_partitions = outcome.partitions;
  outcome.config = std::move(overrides);

  records.add(proto::TopicRecord{.name = topic.name, .topic_id = id});
  for (const auto& [name, value] : outcome.config) {
    records.add(proto::ConfigRecord{
        .resource_type = static_cast<int8_t>(ConfigResourceType::kTopic), .resource_name = topic.name,
        .name = name, .value = value});
  }
  add_partitions(home, id, 0, outcome.partitions, partition_record_version(state), records);
  return outcome;
}

TopicOutcome plan_create_partitions(
    const CatalogReplay& state, const ReplicaHome& home, std::string_view name, int32_t count,
    const std::optional<std::vector<std::vector<int32_t>>>& assignments, MetadataRecords& records) {
  const TopicInfo* topic = state.find(name);
  if (topic == nullptr) {
    return refuse_topic(ErrorCode::kUnknownTopicOrPartition, fmt::format("there is no topic {}", name));
  }
  auto current = static_cast<int32_t>(topic->partitions.size());
  if (count <= current) {
    return refuse_topic(ErrorCode::kInvalidPartitions,
                        fmt::format("topic {} has {} partitions; {} would not be an increase", name, current,
                                    count));
  }
  if (topic->internal) {
    return refuse_topic(ErrorCode::kInvalidRequest,
                        "the number of an internal topic's partitions says where its records belong");
  }
  if (int64_t{count} - current > kMaxPartitionsPerRequest) {
    return refuse_topic(ErrorCode::kPolicyViolation,
                        fmt::format("a request adds at most {} partitions", kMaxPartitionsPerRequest));
  }
  if (assignments) {
    if (assignments->size() != static_cast<size_t>(count - current)) {
      return refuse_topic(ErrorCode::kInvalidReplicaAssignment,
                          fmt::format("{} partitions are added, but {} are assigned", count - current,
                                      assignments->size()));
    }
    for (size_t i = 0; i < assignments->size(); ++i) {
      std::string wrong =
          check_brokers((*assignments)[i], home.node_id, current + static_cast<int32_t>(i));
      if (!wrong.empty()) return refuse_topic(ErrorCode::kInvalidReplicaAssignment, std::move(wrong));
    }
  }
  add_partitions(home, topic->id, current, count, partition_record_version(state), records);
  TopicOutcome outcome;
  outcome.id = topic->id;
  outcome.partitions = count;
  outcome.added_partitions = count - current;
  outcome.replication_factor = 1;
  return outcome;
}

TopicOutcome plan_delete_topic(const TopicInfo& topic, MetadataRecords& records) {
  if (topic.internal) {
    return refuse_topic(ErrorCode::kInvalidRequest, "the broker keeps its own state in this topic");
  }
  records.add(proto::RemoveTopicRecord{.topic_id = topic.id});
  TopicOutcome outcome;
  outcome.id = topic.id;
  return outcome;
}

}  // namespace pelton::broker
