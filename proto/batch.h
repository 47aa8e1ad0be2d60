// Record batch v2, the unit that clients send, disks hold and consumers get, byte for byte:
//   0 baseOffset i64 | 8 batchLength i32 | 12 partitionLeaderEpoch i32 | 16 magic i8 | 17 crc u32 |
//   21 attributes i16 | 23 lastOffsetDelta i32 | 27 baseTimestamp i64 | 35 maxTimestamp i64 |
//   43 producerId i64 | 51 producerEpoch i16 | 53 baseSequence i32 | 57 recordsCount i32 | 61 records
// The CRC covers everything from the attributes on, so baseOffset and partitionLeaderEpoch are stamped
// in place without touching it. Views own nothing and live as long as the bytes they were given.
// Bytes from outside pass validate() once; what is behind it may rely on the header's fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/compression.h"
#include "proto/record.h"
#include "reactor/base/bytes.h"
#include "reactor/base/check.h"
#include "reactor/base/result.h"

namespace pelton::proto {

inline constexpr size_t kBatchHeaderSize = 61;
inline constexpr size_t kBatchLengthEnd = 12;  // batchLength counts the bytes after itself
inline constexpr size_t kBatchMagicEnd = 17;   // what every batch of any magic has
inline constexpr int8_t kBatchMagic = 2;
inline constexpr int64_t kNoProducerId = -1;
inline constexpr int16_t kNoProducerEpoch = -1;
inline constexpr int32_t kNoSequence = -1;
inline constexpr int32_t kNoPartitionLeaderEpoch = -1;
inline constexpr int64_t kNoTimestamp = -1;

inline constexpr int16_t kAttributeCodecMask = 0x07;
inline constexpr int16_t kAttributeLogAppendTime = 0x08;
inline constexpr int16_t kAttributeTransactional = 0x10;
inline constexpr int16_t kAttributeControl = 0x20;
inline constexpr int16_t kAttributeDeleteHorizon = 0x40;
inline constexpr int16_t kKnownAttributes = 0x7f;

// Reads the fields of a batch header. `bytes` holds at least the header; size() may exceed it unless
// the bytes were validated or come from a BatchIterator.
class BatchView {
 public:
  explicit BatchView(Bytes bytes) : bytes_(bytes) { CHECK(bytes.size() >= kBatchHeaderSize); }

  Bytes bytes() const { return bytes_; }
  // What the header says the batch takes, header included.
  size_t size() const { return kBatchLengthEnd + static_cast<uint32_t>(batch_length()); }

  int64_t base_offset() const { return field<int64_t>(0); }
  int32_t batch_length() const { return field<int32_t>(8); }
  int32_t partition_leader_epoch() const { return field<int32_t>(12); }
  int8_t magic() const { return field<int8_t>(16); }
  uint32_t crc() const { return field<uint32_t>(17); }
  int16_t attributes() const { return field<int16_t>(21); }
  int32_t last_offset_delta() const { return field<int32_t>(23); }
  int64_t base_timestamp() const { return field<int64_t>(27); }
  int64_t max_timestamp() const { return field<int64_t>(35); }
  int64_t producer_id() const { return field<int64_t>(43); }
  int16_t producer_epoch() const { return field<int16_t>(51); }
  int32_t base_sequence() const { return field<int32_t>(53); }
  int32_t count() const { return field<int32_t>(57); }

  // One of the five codecs once validated.
  Codec codec() const { return static_cast<Codec>(attributes() & kAttributeCodecMask); }
  bool log_append_time() const { return (attributes() & kAttributeLogAppendTime) != 0; }
  bool transactional() const { return (attributes() & kAttributeTransactional) != 0; }
  bool control() const { return (attributes() & kAttributeControl) != 0; }
  bool has_delete_horizon() const { return (attributes() & kAttributeDeleteHorizon) != 0; }
  bool has_producer_id() const { return producer_id() > kNoProducerId; }

  int64_t last_offset() const { return offset_at(last_offset_delta()); }
  int64_t next_offset() const { return wrapping_add(last_offset(), 1); }
  // The sequence of the last record; sequences wrap from 2^31-1 to 0.
  int32_t last_sequence() const;

  int64_t offset_at(int32_t delta) const { return wrapping_add(base_offset(), delta); }
  int64_t offset_of(const RecordView& record) const { return offset_at(record.offset_delta); }
  int64_t timestamp_at(int64_t delta) const {
    return log_append_time() ? max_timestamp() : wrapping_add(base_timestamp(), delta);
  }
  int64_t timestamp_of(const RecordView& record) const { return timestamp_at(record.timestamp_delta); }

  // The records as stored: compressed unless codec() is none. Needs the whole batch.
  Bytes records_bytes() const { return bytes_.first(size()).subspan(kBatchHeaderSize); }
  // Walks uncompressed records; decompress first where there is a codec.
  RecordIterator records() const {
    CHECK(codec() == Codec::kNone);
    return {records_bytes(), count()};
  }
  uint32_t computed_crc() const;

 private:
  template <class T>
  T field(size_t at) const {
    return load_be<T>(bytes_.data() + at);
  }
  // Hostile fields must not overflow in the signed sense.
  static int64_t wrapping_add(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }

  Bytes bytes_;
};

// Each maps to the error code that Apache Kafka answers a Produce with: see batch_error.h.
enum class BatchError : uint8_t {
  kTooShort,                 // not even a length and a magic
  kBadLength,                // batchLength is less than a header's rest
  kLengthMismatch,           // batchLength and the bytes given differ
  kOldMagic,                 // magic 0 or 1
  kBadMagic,                 // no magic there ever was
  kBaseOffsetNotZero,        // client: offsets are the broker's to give
  kCrcMismatch,
  kUnknownCodec,
  kNegativeLastOffsetDelta,
  kBadCount,                 // negative, or zero from a client
  kCountMismatch,            // more records than offsets, or not one per offset from a client
  kControlFromClient,
  kTransactionalWithoutProducerId,
  kBadProducerEpoch,         // a producer id with a negative epoch
  kBadSequence,              // client: a producer id with a negative sequence
  kBadRecords,               // check_records: the records do not parse, or their offsets do not follow
};
std::string_view to_string(BatchError error);

// Who made the batch. Logs hold what clients may not send: control batches, batches thinned out by
// compaction, any base offset.
enum class BatchOrigin : uint8_t { kClient, kLog };

struct ValidateOptions {
  BatchOrigin origin = BatchOrigin::kClient;
  bool check_crc = true;
};

// Checks that `batch` is exactly one sound batch, header only: the records are not looked into.
Result<BatchView, BatchError> validate(Bytes batch, ValidateOptions options = {});

// Walks the records, through the codec, in bounded memory: count and bounds agree, and the offset
// deltas ascend within the header's (client: 0, 1, 2, ...). `batch` is validated. At most max_output
// bytes are decompressed.
Result<void, BatchError> check_records(const BatchView& batch, BatchOrigin origin, size_t max_output);

// The size of the batch that starts with these bytes (kBatchMagicEnd of them are enough), for readers of
// files. Fails on less, on a length below the header's, and on a magic that is not 2.
Result<size_t, BatchError> peek_batch_size(Bytes front);

// Walks the whole batches of a byte range. A range cut inside a batch simply ends there, as a fetched
// range may; a bad length or magic stops it with error(). Headers are otherwise unchecked.
class BatchIterator {
 public:
  explicit BatchIterator(Bytes range) : range_(range) {}

  std::optional<BatchView> next();
  // Bytes taken by the batches so far: where the next one starts.
  size_t position() const { return position_; }
  // After the end: bytes that are no whole batch remain.
  bool partial() const { return position_ < range_.size(); }
  std::optional<BatchError> error() const { return error_; }

 private:
  Bytes range_;
  size_t position_ = 0;
  std::optional<BatchError> error_;
};

// In-place changes; `batch` starts with a batch header.
void set_base_offset(MutableBytes batch, int64_t offset);
void set_partition_leader_epoch(MutableBytes batch, int32_t epoch);
// message.timestamp.type=LogAppendTime. Inside the CRC: needs the whole batch and computes it again.
void set_max_timestamp_and_log_append_time(MutableBytes batch, int64_t timestamp);
// message.timestamp.type=CreateTime: the largest timestamp of the records; attributes that nobody knows go.
// Inside the CRC, as above.
void set_max_timestamp_and_create_time(MutableBytes batch, int64_t timestamp);
// For a batch whose header was copied from another and whose records were written anew behind it: sets
// length, codec and timestamps (CreateTime), and computes the CRC.
void complete_rebuilt(MutableBytes batch, Codec codec, int64_t base_timestamp, int64_t max_timestamp);

}  // namespace pelton::proto
