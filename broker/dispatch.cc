#include "broker/dispatch.h"

#include <algorithm>
#include <array>

#include "broker/handlers/handlers.h"

namespace pelton::broker {
namespace {

using proto::ApiKey;
using enum Operation;

// Operation and resource are the ones the handler authorizes for what the request is mainly about;
// handlers that name several kinds of resource authorize each.
constexpr auto kHandlers = std::to_array<ApiHandler>({
    // key                             versions  advertised from, operation, resource
    {ApiKey::kProduce, 3, 13, 0, kWrite, ResourceType::kTopic, &handle_produce},
    {ApiKey::kFetch, 4, 18, 4, kRead, ResourceType::kTopic, &handle_fetch},
    {ApiKey::kListOffsets, 1, 11, 1, kDescribe, ResourceType::kTopic, &handle_list_offsets},
    {ApiKey::kMetadata, 0, 13, 0, kDescribe, ResourceType::kTopic, &handle_metadata},
    {ApiKey::kOffsetCommit, 2, 10, 2, kRead, ResourceType::kGroup, &handle_offset_commit},
    {ApiKey::kOffsetFetch, 1, 10, 1, kDescribe, ResourceType::kGroup, &handle_offset_fetch},
    {ApiKey::kFindCoordinator, 0, 6, 0, kDescribe, ResourceType::kGroup, &handle_find_coordinator},
    {ApiKey::kJoinGroup, 0, 9, 0, kRead, ResourceType::kGroup, &handle_join_group},
    {ApiKey::kHeartbeat, 0, 4, 0, kRead, ResourceType::kGroup, &handle_heartbeat},
    {ApiKey::kLeaveGroup, 0, 5, 0, kRead, ResourceType::kGroup, &handle_leave_group},
    {ApiKey::kSyncGroup, 0, 5, 0, kRead, ResourceType::kGroup, &handle_sync_group},
    {ApiKey::kDescribeGroups, 0, 6, 0, kDescribe, ResourceType::kGroup, &handle_describe_groups},
    {ApiKey::kListGroups, 0, 5, 0, kDescribe, ResourceType::kCluster, &handle_list_groups},
    {ApiKey::kApiVersions, 0, 5, 0, kNone, ResourceType::kNone, &handle_api_versions, true},
    {ApiKey::kCreateTopics, 2, 7, 2, kCreate, ResourceType::kCluster, &handle_create_topics, true},
    {ApiKey::kDeleteTopics, 1, 6, 1, kDelete, ResourceType::kTopic, &handle_delete_topics, true},
    {ApiKey::kDeleteRecords, 0, 2, 0, kDelete, ResourceType::kTopic, &handle_delete_records},
    {ApiKey::kInitProducerId, 0, 5, 0, kIdempotentWrite, ResourceType::kCluster,
     &handle_init_producer_id},
    {ApiKey::kOffsetForLeaderEpoch, 2, 4, 2, kDescribe, ResourceType::kTopic,
     &handle_offset_for_leader_epoch},
    {ApiKey::kWriteTxnMarkers, 1, 2, 1, kClusterAction, ResourceType::kCluster,
     &handle_write_txn_markers},
    {ApiKey::kDescribeConfigs, 1, 4, 1, kDescribeConfigs, ResourceType::kTopic,
     &handle_describe_configs, true},
    {ApiKey::kAlterConfigs, 0, 2, 0, kAlterConfigs, ResourceType::kTopic, &handle_alter_configs, true},
    {ApiKey::kDescribeLogDirs, 1, 5, 1, kDescribe, ResourceType::kCluster, &handle_describe_log_dirs},
    {ApiKey::kCreatePartitions, 0, 3, 0, kAlter, ResourceType::kTopic, &handle_create_partitions, true},
    {ApiKey::kDeleteGroups, 0, 3, 0, kDelete, ResourceType::kGroup, &handle_delete_groups},
    {ApiKey::kElectLeaders, 0, 2, 0, kAlter, ResourceType::kCluster, &handle_elect_leaders, true},
    {ApiKey::kIncrementalAlterConfigs, 0, 1, 0, kAlterConfigs, ResourceType::kTopic,
     &handle_incremental_alter_configs, true},
    {ApiKey::kAlterPartitionReassignments, 0, 1, 0, kAlter, ResourceType::kCluster,
     &handle_alter_partition_reassignments, true},
    {ApiKey::kListPartitionReassignments, 0, 0, 0, kDescribe, ResourceType::kCluster,
     &handle_list_partition_reassignments, true},
    {ApiKey::kOffsetDelete, 0, 0, 0, kDelete, ResourceType::kGroup, &handle_offset_delete},
    {ApiKey::kDescribeQuorum, 0, 2, 0, kDescribe, ResourceType::kCluster, &handle_describe_quorum, true},
    {ApiKey::kUpdateFeatures, 0, 2, 0, kAlter, ResourceType::kCluster, &handle_update_features, true},
    {ApiKey::kDescribeCluster, 0, 2, 0, kDescribe, ResourceType::kCluster, &handle_describe_cluster, true},
    {ApiKey::kDescribeProducers, 0, 0, 0, kRead, ResourceType::kTopic, &handle_describe_producers},
    {ApiKey::kListConfigResources, 0, 1, 0, kDescribeConfigs, ResourceType::kCluster,
     &handle_list_config_resources},
    {ApiKey::kDescribeTopicPartitions, 0, 0, 0, kDescribe, ResourceType::kTopic,
     &handle_describe_topic_partitions},
});
static_assert(std::ranges::is_sorted(kHandlers, {}, &ApiHandler::key));

}  // namespace

std::span<const ApiHandler> api_handlers() { return kHandlers; }

const ApiHandler* find_handler(int16_t key, bool controller) {
  auto found = std::ranges::lower_bound(kHandlers, static_cast<ApiKey>(key), {}, &ApiHandler::key);
  bool known = found != kHandlers.end() && found->key == static_cast<ApiKey>(key);
  return known && (!controller || found->on_controller) ? &*found : nullptr;
}

}  // namespace pelton::broker
