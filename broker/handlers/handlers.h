// Every handler; one declaration a line, sorted. dispatch.cc names them in its table.
#pragma once

namespace pelton::broker {

struct BrokerShard;
class Request;

void handle_alter_configs(BrokerShard& here, Request& request);
void handle_alter_partition_reassignments(BrokerShard& here, Request& request);
void handle_api_versions(BrokerShard& here, Request& request);
void handle_create_partitions(BrokerShard& here, Request& request);
void handle_create_topics(BrokerShard& here, Request& request);
void handle_delete_groups(BrokerShard& here, Request& request);
void handle_delete_records(BrokerShard& here, Request& request);
void handle_delete_topics(BrokerShard& here, Request& request);
void handle_describe_cluster(BrokerShard& here, Request& request);
void handle_describe_configs(BrokerShard& here, Request& request);
void handle_describe_groups(BrokerShard& here, Request& request);
void handle_describe_log_dirs(BrokerShard& here, Request& request);
void handle_describe_producers(BrokerShard& here, Request& request);
void handle_describe_quorum(BrokerShard& here, Request& request);
void handle_describe_topic_partitions(BrokerShard& here, Request& request);
void handle_elect_leaders(BrokerShard& here, Request& request);
void handle_fetch(BrokerShard& here, Request& request);
void handle_find_coordinator(BrokerShard& here, Request& request);
void handle_heartbeat(BrokerShard& here, Request& request);
void handle_incremental_alter_configs(BrokerShard& here, Request& request);
void handle_init_producer_id(BrokerShard& here, Request& request);
void handle_join_group(BrokerShard& here, Request& request);
void handle_leave_group(BrokerShard& here, Request& request);
void handle_list_config_resources(BrokerShard& here, Request& request);
void handle_list_groups(BrokerShard& here, Request& request);
void handle_list_offsets(BrokerShard& here, Request& request);
void handle_list_partition_reassignments(BrokerShard& here, Request& request);
void handle_metadata(BrokerShard& here, Request& request);
void handle_offset_commit(BrokerShard& here, Request& request);
void handle_offset_delete(BrokerShard& here, Request& request);
void handle_offset_fetch(BrokerShard& here, Request& request);
void handle_offset_for_leader_epoch(BrokerShard& here, Request& request);
void handle_produce(BrokerShard& here, Request& request);
void handle_sync_group(BrokerShard& here, Request& request);
void handle_update_features(BrokerShard& here, Request& request);
void handle_write_txn_markers(BrokerShard& here, Request& request);

}  // namespace pelton::broker
