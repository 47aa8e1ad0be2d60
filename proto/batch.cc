#include "proto/batch.h"

#include "proto/crc32c.h"
#include "proto/record_scan.h"

namespace pelton::proto {
namespace {

constexpr size_t kAtLength = 8;
constexpr size_t kAtLeaderEpoch = 12;
constexpr size_t kAtMagic = 16;
constexpr size_t kAtCrc = 17;
constexpr size_t kAtAttributes = 21;
constexpr size_t kAtBaseTimestamp = 27;
constexpr size_t kAtMaxTimestamp = 35;
constexpr int32_t kMinBatchLength = kBatchHeaderSize - kBatchLengthEnd;
// Below this no batch or message of any magic: Kafka calls such a length corrupt whatever the magic.
constexpr int32_t kMinOldLength = 14;

using Failure = std::optional<BatchError>;

Failure check_counts(const BatchView& batch, BatchOrigin origin) {
  int64_t offsets = int64_t{batch.last_offset_delta()} + 1;
  if (offsets <= 0) return BatchError::kNegativeLastOffsetDelta;
  bool client = origin == BatchOrigin::kClient;
  if (batch.count() < (client ? 1 : 0)) return BatchError::kBadCount;
  bool fits = client ? batch.count() == offsets : batch.count() <= offsets;
  if (!fits) return BatchError::kCountMismatch;
  return std::nullopt;
}

Failure check_producer(const BatchView& batch, BatchOrigin origin) {
  bool client = origin == BatchOrigin::kClient;
  if (client && batch.control()) return BatchError::kControlFromClient;
  if (!batch.has_producer_id())
    return batch.transactional() ? Failure(BatchError::kTransactionalWithoutProducerId) : std::nullopt;
  if (batch.producer_epoch() < 0) return BatchError::kBadProducerEpoch;
  if (client && batch.base_sequence() < 0) return BatchError::kBadSequence;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BatchError error) {
  switch (error) {
    case BatchError::kTooShort: return "no whole record batch";
    case BatchError::kBadLength: return "batch length below the minimum";
    case BatchError::kLengthMismatch: return "batch length does not match the bytes given";
    case BatchError::kOldMagic: return "message format older than v2";
    case BatchError::kBadMagic: return "unknown magic";
    case BatchError::kBaseOffsetNotZero: return "base offset is not 0";
    case BatchError::kCrcMismatch: return "CRC mismatch";
    case BatchError::kUnknownCodec: return "unknown compression type";
    case BatchError::kNegativeLastOffsetDelta: return "invalid offset range";
    case BatchError::kBadCount: return "invalid record count";
    case BatchError::kCountMismatch: return "record count and offset range disagree";
    case BatchError::kControlFromClient: return "clients are not allowed to write control records";
    case BatchError::kTransactionalWithoutProducerId: return "transactional batch without producer id";
    case BatchError::kBadProducerEpoch: return "invalid producer epoch";
    case BatchError::kBadSequence: return "invalid sequence number";
    case BatchError::kBadRecords: return "invalid records";
  }
  return "?";
}

int32_t BatchView::last_sequence() const {
  if (base_sequence() == kNoSequence) return kNoSequence;
  constexpr uint32_t kSequenceMask = 0x7fffffff;
  uint32_t sum = static_cast<uint32_t>(base_sequence()) + static_cast<uint32_t>(last_offset_delta());
  return static_cast<int32_t>(sum & kSequenceMask);
}

uint32_t BatchView::computed_crc() const { return crc32c(bytes_.first(size()).subspan(kAtAttributes)); }

Result<size_t, BatchError> peek_batch_size(Bytes front) {
  if (front.size() < kBatchMagicEnd) return std::unexpected(BatchError::kTooShort);
  int32_t length = load_be<int32_t>(front.data() + kAtLength);
  int8_t magic = load_be<int8_t>(front.data() + kAtMagic);
  if (length < kMinOldLength) return std::unexpected(BatchError::kBadLength);
  if (magic < 0 || magic > kBatchMagic) return std::unexpected(BatchError::kBadMagic);
  if (magic < kBatchMagic) return std::unexpected(BatchError::kOldMagic);
  if (length < kMinBatchLength) return std::unexpected(BatchError::kBadLength);
  return kBatchLengthEnd + static_cast<size_t>(length);
}

Result<BatchView, BatchError> validate(Bytes bytes, ValidateOptions options) {
  auto size = peek_batch_size(bytes);
  if (!size) return std::unexpected(size.error());
  if (*size != bytes.size()) return std::unexpected(BatchError::kLengthMismatch);
  BatchView batch(bytes);
  if (options.origin == BatchOrigin::kClient && batch.base_offset() != 0)
    return std::unexpected(BatchError::kBaseOffsetNotZero);
  if (options.check_crc && batch.crc() != batch.computed_crc())
    return std::unexpected(BatchError::kCrcMismatch);
  if (static_cast<uint8_t>(batch.codec()) >= kCodecCount)
    return std::unexpected(BatchError::kUnknownCodec);
  if (Failure failure = check_counts(batch, options.origin)) return std::unexpected(*failure);
  if (Failure failure = check_producer(batch, options.origin)) return std::unexpected(*failure);
  return batch;
}

Result<void, BatchError> check_records(const BatchView& batch, BatchOrigin origin, size_t max_output) {
  RecordScanner records(batch.codec(), batch.records_bytes(), batch.count(), max_output);
  ScannedRecord record;
  int64_t previous = -1;
  while (records.next(record)) {
    bool follows = origin == BatchOrigin::kClient ? record.offset_delta == previous + 1
                                                  : record.offset_delta > previous;
    if (!follows || record.offset_delta > batch.last_offset_delta())
      return std::unexpected(BatchError::kBadRecords);
    previous = record.offset_delta;
  }
  if (!records.status()) return std::unexpected(BatchError::kBadRecords);
  return {};
}

std::optional<BatchView> BatchIterator::next() {
  if (error_) return std::nullopt;
  Bytes left = range_.subspan(position_);
  auto size = peek_batch_size(left);
  if (!size) {
    if (size.error() != BatchError::kTooShort) error_ = size.error();
    return std::nullopt;
  }
  if (*size > left.size()) return std::nullopt;
  position_ += *size;
  return BatchView(left.first(*size));
}

void set_base_offset(MutableBytes batch, int64_t offset) {
  CHECK(batch.size() >= kBatchHeaderSize);
  store_be<int64_t>(batch.data(), offset);
}

void set_partition_leader_epoch(MutableBytes batch, int32_t epoch) {
  CHECK(batch.size() >= kBatchHeaderSize);
  store_be<int32_t>(batch.data() + kAtLeaderEpoch, epoch);
}

namespace {

void set_max_timestamp(MutableBytes batch, int64_t timestamp, int16_t attributes) {
  BatchView view(batch);
  CHECK(view.batch_length() >= kMinBatchLength && batch.size() >= view.size());
  store_be<int16_t>(batch.data() + kAtAttributes, attributes);
  store_be<int64_t>(batch.data() + kAtMaxTimestamp, timestamp);
  store_be<uint32_t>(batch.data() + kAtCrc, view.computed_crc());
}

}  // namespace

void set_max_timestamp_and_log_append_time(MutableBytes batch, int64_t timestamp) {
  int attributes = (BatchView(batch).attributes() & kKnownAttributes) | kAttributeLogAppendTime;
  set_max_timestamp(batch, timestamp, static_cast<int16_t>(attributes));
}

void set_max_timestamp_and_create_time(MutableBytes batch, int64_t timestamp) {
  int attributes = BatchView(batch).attributes() & kKnownAttributes & ~kAttributeLogAppendTime;
  set_max_timestamp(batch, timestamp, static_cast<int16_t>(attributes));
}

void complete_rebuilt(MutableBytes batch, Codec codec, int64_t base_timestamp, int64_t max_timestamp) {
  CHECK(batch.size() >= kBatchHeaderSize && batch.size() - kBatchLengthEnd <= INT32_MAX);
  store_be<int32_t>(batch.data() + kAtLength, static_cast<int32_t>(batch.size() - kBatchLengthEnd));
  int others = BatchView(batch).attributes() & ~kAttributeCodecMask;
  store_be<int16_t>(batch.data() + kAtAttributes, static_cast<int16_t>(others | static_cast<int>(codec)));
  store_be<int64_t>(batch.data() + kAtBaseTimestamp, base_timestamp);
  set_max_timestamp_and_create_time(batch, max_timestamp);
}

}  // namespace pelton::proto
