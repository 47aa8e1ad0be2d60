// LogConfig: what one partition's log needs of its topic's configuration. Values are checked by the
// broker's config table before they come here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "proto/compression.h"

namespace pelton::storage {

inline constexpr int64_t kFlushNever = std::numeric_limits<int64_t>::max();

struct LogConfig {
  int32_t segment_bytes = 1 << 30;          // segment.bytes
  int64_t segment_ms = 604'800'000;         // segment.ms
  int64_t segment_jitter_ms = 0;            // segment.jitter.ms
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
  // How far a record's time may lie from the broker's clock: message.timestamp.{before,after}.max.ms
  int64_t timestamp_before_max_ms = std::numeric_limits<int64_t>::max();
  int64_t timestamp_after_max_ms = 3'600'000;
  // compression.type: what the log holds; nullopt = as the producer sent it ("producer").
  std::optional<proto::Codec> compression;
  int32_t compression_gzip_level = -1;      // compression.gzip.level, -1 = the library's own
  int32_t compression_lz4_level = 9;        // compression.lz4.level
  int32_t compression_zstd_level = 3;       // compression.zstd.level
  int32_t max_decompressed_message_bytes = 2'147'483'639;  // max.decompressed.message.bytes
  int64_t producer_id_expiration_ms = 86'400'000;

  bool synced() const { return flush_messages == 1; }
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

}  // namespace pelton::storage
