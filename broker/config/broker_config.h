// BrokerConfig: the broker's configuration, checked and typed. Built once at start from the table of
// keys (config/keys.h) and the three sources: server.properties, KAFKA_* environment, --override; made anew
// when dynamic configuration changes (config/dynamic_config.h). Every shard has its own copy of the newest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/config/config_layers.h"
#include "broker/config/connection_limits_config.h"
#include "reactor/io.h"
#include "storage/log_config.h"

namespace pelton::broker {

struct ListenerConfig {
  std::string name;               // "PLAINTEXT"
  SocketAddress bind;             // host empty = every address; a name until the process has looked it up
  // Empty host, port 0: the one that the client dialled.
  std::string advertised_host;
  uint16_t advertised_port = 0;
};

struct BrokerConfig {
  int32_t node_id = 1;
  std::string cluster_id;                       // empty: from the directory, or a new one
  std::string rack;
  std::vector<ListenerConfig> listeners;        // for clients
  std::vector<ListenerConfig> controller_listeners;  // for admin tools that ask a controller
  std::string log_dir;                          // log.dirs (one directory)
  int shards = 0;                               // pelton.shards; 0 = number of cores
  bool pin_shards = true;
  std::optional<SocketAddress> metrics_listener;  // pelton.metrics.listener; none: off
  bool metrics_listener_given = false;            // a source sets it: its port must be had
  std::string log_level = "info";               // pelton.log.level

  // topics
  int32_t num_partitions = 1;
  bool auto_create_topics = true;
  bool delete_topic_enable = true;
  storage::LogConfig log_defaults;              // log.* and message.* of the broker
  int32_t offsets_topic_num_partitions = 50;
  int32_t offsets_topic_segment_bytes = 104'857'600;
  int32_t offsets_topic_compression_codec = 0;

  // groups (milliseconds)
  int32_t group_min_session_timeout_ms = 6'000;
  int32_t group_max_session_timeout_ms = 1'800'000;
  int32_t group_initial_rebalance_delay_ms = 3'000;
  int32_t group_max_size = INT32_MAX;
  int32_t offset_metadata_max_bytes = 4'096;
  int32_t offsets_commit_timeout_ms = 5'000;
  int32_t offsets_load_buffer_size = 5'242'880;
  int64_t offsets_retention_minutes = 10'080;
  int64_t offsets_retention_check_interval_ms = 600'000;

  // requests and connections
  int32_t socket_request_max_bytes = 104'857'600;
  int32_t socket_send_buffer_bytes = -1;        // -1: the kernel's tuning
  int32_t socket_receive_buffer_bytes = -1;
  int32_t socket_listen_backlog = 1'024;
  int64_t queued_max_request_bytes = 0;         // per broker; 0 = a share of the machine's memory
  int32_t max_in_flight_per_connection = 64;    // pelton.max.in.flight.requests.per.connection
  int32_t max_unsent_bytes_per_connection = 1'048'576;  // pelton.max.unsent.bytes.per.connection
  int32_t connections_max_idle_ms = 600'000;
  int32_t connection_setup_timeout_ms = 10'000;  // pelton.connection.setup.timeout.ms; 0 = none
  int32_t request_receive_timeout_ms = 30'000;   // pelton.request.receive.timeout.ms; 0 = none
  ConnectionLimitsConfig connection_limits;
  std::string inter_broker_listener = "PLAINTEXT";  // not held to max.connections when there are others
  int32_t fetch_max_bytes = 57'671'680;
  int32_t max_fetch_sessions = 1'000;           // max.incremental.fetch.session.cache.slots
  int32_t request_partition_limit = 2'000;      // max.request.partition.size.limit
  int32_t producer_id_expiration_ms = 86'400'000;

  // the metadata log
  int32_t metadata_segment_bytes = 1 << 30;             // metadata.log.segment.bytes
  int32_t metadata_small_segment_bytes = 0;             // internal.metadata.log.segment.bytes; 0 = not set
  int64_t metadata_segment_ms = 604'800'000;            // metadata.log.segment.ms
  int64_t metadata_delete_delay_ms = 60'000;            // internal.metadata.delete.delay.millis
  int64_t metadata_snapshot_bytes = 20'971'520;         // metadata.log.max.record.bytes.between.snapshots
  int64_t metadata_snapshot_interval_ms = 3'600'000;    // metadata.log.max.snapshot.interval.ms; 0 = never
  int64_t metadata_retention_bytes = 104'857'600;       // metadata.max.retention.bytes; negative = no limit
  int64_t metadata_retention_ms = 604'800'000;          // metadata.max.retention.ms; negative = no limit

  // background
  int64_t log_retention_check_interval_ms = 300'000;
  int64_t flush_offset_checkpoint_interval_ms = 60'000;
  int64_t groups_max_bytes = -1;                // pelton.groups.max.bytes; -1 = a share of the machine's memory
  std::string send_path = "auto";               // pelton.fetch.send.path: auto, sendfile, splice, copy

  // The texts behind all this, and those of keys that do nothing: what DescribeConfigs tells.
  ConfigLayers layers;
};

}  // namespace pelton::broker
