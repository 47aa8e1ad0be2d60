// GroupConfig: what groups need of the broker's configuration.
#pragma once

#include <cstdint>

#include "broker/config/broker_config.h"

namespace pelton::broker::group {

struct GroupConfig {
  int32_t min_session_timeout_ms = 6'000;
  int32_t max_session_timeout_ms = 1'800'000;
  int32_t initial_rebalance_delay_ms = 3'000;
  int32_t max_size = INT32_MAX;
  int32_t offset_metadata_max_bytes = 4'096;
  int64_t offsets_retention_ms = 10'080 * int64_t{60'000};
  int64_t offsets_retention_check_interval_ms = 600'000;
  // How long a JoinGroup of a new member may wait; not configurable, as in Kafka.
  int32_t new_member_join_timeout_ms = 300'000;

  static GroupConfig of(const BrokerConfig& broker) {
    return {.min_session_timeout_ms = broker.group_min_session_timeout_ms,
            .max_session_timeout_ms = broker.group_max_session_timeout_ms,
            .initial_rebalance_delay_ms = broker.group_initial_rebalance_delay_ms,
            .max_size = broker.group_max_size,
            .offset_metadata_max_bytes = broker.offset_metadata_max_bytes,
            .offsets_retention_ms = broker.offsets_retention_minutes * 60'000,
            .offsets_retention_check_interval_ms = broker.offsets_retention_check_interval_ms};
  }
};

}  // namespace pelton::broker::group
