// LogConfig: what one partition's log needs of its topic's configuration. Values are checked by the
// broker's config table before they come here.
#pragma once

#include <cstdint>
#include <limits>

namespace pelton::storage {

inline constexpr int64_t kFlushNever = std::numeric_limits<int64_t>::max();

struct LogConfig {
  int32_t segment_bytes = 1 << 30;          // segment.bytes
  int64_t segment_ms = 604'800'000;         // segment.ms
  int32_t index_interval_bytes = 4096;      // index.interval.bytes
  int32_t segment_index_bytes = 10 << 20;   // segment.index.bytes
  int64_t retention_ms = 604'800'000;       // retention.ms, -1 = no limit
  int64_t retention_bytes = -1;             // retention.bytes, -1 = no limit
  int64_t file_delete_delay_ms = 60'000;    // file.delete.delay.ms
  // 1: a batch is committed when it is on stable storage. Larger: committed when written; synced after
  // that many records (kFlushNever = the kernel decides), as in Apache Kafka.
  int64_t flush_messages = 1;               // flush.messages
  int64_t flush_ms = kFlushNever;           // flush.ms
  int32_t max_message_bytes = 1'048'588;    // max.message.bytes
  bool delete_policy = true;                // cleanup.policy contains delete
  bool compact_policy = false;              // cleanup.policy contains compact
  bool log_append_time = false;             // message.timestamp.type=LogAppendTime
  int64_t producer_id_expiration_ms = 86'400'000;

  bool synced() const { return flush_messages == 1; }
};

}  // namespace pelton::storage
