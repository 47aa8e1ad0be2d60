// From a batch as the client sent it to the batch that the log takes: its records are checked, its largest
// timestamp is set right, and it is written anew where the topic wants another codec.
//
// Pure: no clock, no log; any thread, which must own the batch's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/produce/record_check.h"
#include "proto/compression.h"
#include "reactor/base/bytes.h"
#include "storage/log_config.h"

namespace pelton::broker {

// What a topic makes of the batches it gets.
struct BatchRules {
  RecordRules records;
  std::optional<proto::Codec> codec;  // nullopt: as the producer sent it
  proto::CompressionLevels levels;
  size_t largest_batch = 0;           // max.message.bytes

  static BatchRules of(const storage::LogConfig& config, int64_t now_ms);
  proto::Codec target(const proto::BatchView& batch) const { return codec.value_or(batch.codec()); }
};

struct PreparedBatch {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::string_view why;                // a literal, when there is an error
  std::vector<RecordError> errors;
  // What to append: the client's bytes, or `rebuilt`.
  MutableBytes batch;
  std::vector<uint8_t> rebuilt;
  // The limit of output was too small, or the batch must be rebuilt and may not be: nothing was changed,
  // and it has to be prepared again with more.
  bool needs_more = false;
  uint64_t plain_bytes = 0;
};

// How much work is allowed.
struct PrepareLimits {
  size_t max_output = 0;    // decompressed bytes
  bool may_rebuild = true;
  bool final = true;        // too much output is the client's fault, not a reason to ask again
};

// A client's batch of so many bytes may decompress to this. Generous for data that is worth compressing (16
// KiB may grow 1,280 times), and bounds what a bomb costs: below 50 ms for each batch and each MiB of it.
inline constexpr size_t kLeastOutput = size_t{20} << 20;
inline constexpr size_t kMostGrowth = 20;
inline size_t output_limit(size_t batch_size) { return std::max(kLeastOutput, batch_size * kMostGrowth); }

// `batch` has passed proto::validate.
PreparedBatch prepare(MutableBytes batch, const BatchRules& rules, const PrepareLimits& limits,
                      proto::CodecContexts* contexts);

}  // namespace pelton::broker
