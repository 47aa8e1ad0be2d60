// DescribeTopicPartitions: topics and partitions page by page, in the order of names.

#include "proto/messages/describe_topic_partitions.h"

#include <algorithm>
#include <set>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/internal_topics.h"
#include "broker/catalog/topic_changes.h"
#include "broker/handlers/authorized_operations.h"
#include "broker/handlers/handlers.h"
#include "broker/request.h"
#include "broker/topology.h"

namespace pelton::broker {
namespace {

using proto::DescribeTopicPartitionsRequest;
using proto::DescribeTopicPartitionsResponse;
using proto::ErrorCode;
using Topic = DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponseTopic;
using PartitionAnswer = DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponsePartition;
using Cursor = DescribeTopicPartitionsResponse::Cursor;

class Page {
 public:
  Page(BrokerShard& here, Request& request, const DescribeTopicPartitionsRequest& asked)
      : request_(request),
        asked_(asked),
        catalog_(*here.catalog),
        topology_(catalog_, request.connection(), here.config),
        left_(std::max(1, std::min(here.config.request_partition_limit,
                                   asked.response_partition_limit))) {}

  void respond() {
    for (std::string_view name : names()) {
      if (left_ == 0) {
        set_next(name, 0);
        break;
      }
      add(name);
      if (next_ != nullptr) break;
    }
    DescribeTopicPartitionsResponse response;
    response.topics = topics_;
    response.next_cursor = next_;
    request_.respond(response);
  }

 private:
  // What is asked for, from the cursor's topic on.
  std::set<std::string_view> names() const {
    std::set<std::string_view> names;
    for (const auto& topic : asked_.topics) names.insert(topic.name);
    if (asked_.topics.empty()) {
      for (const auto& [name, topic] : catalog_.topics()) {
        if (authorize(request_, Operation::kDescribe, ResourceType::kTopic, name)) names.insert(name);
      }
    }
    if (asked_.cursor != nullptr) {
      names.erase(names.begin(), names.lower_bound(asked_.cursor->topic_name));
    }
    return names;
  }

  void add(std::string_view name) {
    if (!authorize(request_, Operation::kDescribe, ResourceType::kTopic, name)) {
      return add_error(name, ErrorCode::kTopicAuthorizationFailed);
    }
    const TopicInfo* topic = catalog_.find(name);
    if (topic == nullptr) {
      // A cursor may name a topic that is gone.
      if (asked_.topics.empty()) return;
      return add_error(name, check_topic_name(name).empty() ? ErrorCode::kUnknownTopicOrPartition
                                                            : ErrorCode::kInvalidTopicException);
    }
    add(*topic);
  }

  void add(const TopicInfo& topic) {
    bool at_cursor = asked_.cursor != nullptr && asked_.cursor->topic_name == topic.name;
    size_t first = at_cursor ? static_cast<size_t>(asked_.cursor->partition_index) : 0;
    first = std::min(first, topic.partitions.size());
    size_t count = std::min(topic.partitions.size() - first, static_cast<size_t>(left_));
    auto partitions = request_.arena().array<PartitionAnswer>(count);
    for (size_t i = 0; i < count; ++i) fill(topic.partitions[first + i], partitions[i]);
    topics_.push_back({.name = topic.name,
                       .topic_id = topic.id,
                       .is_internal = topic.internal,
                       .partitions = partitions,
                       .topic_authorized_operations =
                           authorized_operations(request_, ResourceType::kTopic, topic.name)});
    left_ -= static_cast<int32_t>(count);
    if (first + count < topic.partitions.size()) {
      set_next(topic.name, static_cast<int32_t>(first + count));
    }
  }

  void fill(const PartitionInfo& info, PartitionAnswer& answer) {
    proto::Arena& arena = request_.arena();
    answer.partition_index = info.index;
    answer.leader_id = topology_.leader(info);
    if (answer.leader_id.value < 0) {
      answer.error_code = static_cast<int16_t>(ErrorCode::kLeaderNotAvailable);
    }
    answer.leader_epoch = info.leader_epoch;
    answer.replica_nodes = topology_.replicas(info, arena);
    answer.isr_nodes = topology_.in_sync(info, arena);
    answer.eligible_leader_replicas.emplace();  // none, not unknown
    answer.last_known_elr.emplace();
    answer.offline_replicas = topology_.offline(info, arena);
  }

  void add_error(std::string_view name, ErrorCode error) {
    topics_.push_back({.error_code = static_cast<int16_t>(error),
                       .name = name,
                       .is_internal = is_internal_topic(name)});
    if (error == ErrorCode::kTopicAuthorizationFailed) return;
    topics_.back().topic_authorized_operations =
        authorized_operations(request_, ResourceType::kTopic, name);
  }

  void set_next(std::string_view name, int32_t partition) {
    next_ = request_.arena().make<Cursor>();
    *next_ = {.topic_name = name, .partition_index = partition};
  }

  Request& request_;
  const DescribeTopicPartitionsRequest& asked_;
  const CatalogSnapshot& catalog_;
  Topology topology_;
  int32_t left_;  // partitions that still fit
  std::vector<Topic> topics_;
  Cursor* next_ = nullptr;
};

// A cursor points at a partition of a topic that is asked for.
bool valid_cursor(const DescribeTopicPartitionsRequest& asked) {
  if (asked.cursor == nullptr) return true;
  if (asked.cursor->partition_index < 0) return false;
  return asked.topics.empty() || std::ranges::any_of(asked.topics, [&](const auto& topic) {
           return topic.name == asked.cursor->topic_name;
         });
}

void refuse(Request& request, const DescribeTopicPartitionsRequest& asked) {
  std::vector<Topic> topics;
  for (const auto& topic : asked.topics) {
    topics.push_back(
        {.error_code = static_cast<int16_t>(ErrorCode::kInvalidRequest), .name = topic.name});
  }
  DescribeTopicPartitionsResponse response;
  response.topics = topics;
  request.respond(response);
}

}  // namespace

void handle_describe_topic_partitions(BrokerShard& here, Request& request) {
  const auto* asked = request.decode<DescribeTopicPartitionsRequest>();
  if (asked == nullptr) return;
  if (!valid_cursor(*asked)) return refuse(request, *asked);
  Page(here, request, *asked).respond();
}

}  // namespace pelton::broker
