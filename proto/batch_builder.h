// Writes one record batch v2. Owns the records while they are collected; one owner, any shard.
// Records get ascending offset deltas; the first record's timestamp is the base timestamp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/batch.h"
#include "proto/compression.h"
#include "proto/record.h"
#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::proto {

// Types of control records: the second half of their key.
enum class ControlType : int16_t {
  kAbort = 0,
  kCommit = 1,
  kLeaderChange = 2,
  kSnapshotHeader = 3,
  kSnapshotFooter = 4,
  kKraftVersion = 5,
  kKraftVoters = 6,
};

struct BatchOptions {
  int64_t base_offset = 0;
  int32_t partition_leader_epoch = kNoPartitionLeaderEpoch;
  Codec codec = Codec::kNone;
  int64_t producer_id = kNoProducerId;
  int16_t producer_epoch = kNoProducerEpoch;
  int32_t base_sequence = kNoSequence;
  bool transactional = false;
  bool control = false;
};

class BatchBuilder {
 public:
  explicit BatchBuilder(BatchOptions options = {}) : options_(options) {}

  void set_codec(Codec codec) { options_.codec = codec; }
  // At the offset after the previous record's, or at an explicit delta that is greater than that.
  void append(int64_t timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
              std::span<const RecordHeader> headers = {});
  void append_at(int32_t offset_delta, int64_t timestamp, std::optional<Bytes> key,
                 std::optional<Bytes> value, std::span<const RecordHeader> headers = {});
  // Needs options.control.
  void append_control(int64_t timestamp, ControlType type, Bytes value);

  int32_t count() const { return count_; }
  // Exact without a codec.
  size_t uncompressed_size() const { return kBatchHeaderSize + records_.size(); }

  // Appends the batch to `out`. At least one record was appended. The builder is unchanged.
  Result<void, CompressionError> build(std::vector<uint8_t>& out) const;

 private:
  void write_header(MutableBytes batch) const;

  BatchOptions options_;
  std::vector<uint8_t> records_;
  int32_t count_ = 0;
  int32_t last_offset_delta_ = -1;
  int64_t base_timestamp_ = kNoTimestamp;
  int64_t max_timestamp_ = kNoTimestamp;
};

// The one-record control batch that ends a transaction (kAbort or kCommit), appended to `out`.
// Takes producer id, epoch, base offset and leader epoch from `options`.
void build_end_transaction_marker(BatchOptions options, int64_t timestamp, ControlType type,
                                  int32_t coordinator_epoch, std::vector<uint8_t>& out);

// The type in a control record's key; nullopt when the key is no control key. Later versions of the key
// may be longer.
std::optional<int16_t> control_type(Bytes key);

}  // namespace pelton::proto
