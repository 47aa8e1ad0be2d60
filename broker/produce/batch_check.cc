#include "broker/produce/batch_check.h"

#include "proto/batch_error.h"

namespace pelton::broker {
namespace {

using proto::BatchError;
using proto::ErrorCode;

constexpr int16_t kFirstVersionWithZstd = 7;

// Bytes behind the batch that are no batch are passed over, as Apache Kafka does; a second batch is not.
void drop_trailing_bytes(ProduceSlot& slot, size_t size) {
  if (size >= slot.batch.size()) return;
  auto next = proto::peek_batch_size(slot.batch.subspan(size));
  size_t left = slot.batch.size() - size;
  if (left < proto::kBatchMagicEnd || (next && *next > left)) slot.batch = slot.batch.first(size);
}

void refuse(ProduceSlot& slot, BatchError error) {
  slot.refuse(proto::error_code_of(error), to_string(error));
}

}  // namespace

void check_frame(ProduceSlot& slot, int16_t request_version) {
  auto size = proto::peek_batch_size(slot.batch);
  if (!size) return refuse(slot, size.error());
  drop_trailing_bytes(slot, *size);
  if (*size < slot.batch.size())
    return slot.refuse(proto::error_code_of(BatchError::kLengthMismatch), "more than one record batch for a partition");
  if (*size > slot.batch.size()) return refuse(slot, BatchError::kLengthMismatch);
  bool zstd = proto::BatchView(slot.batch).codec() == proto::Codec::kZstd;
  if (zstd && request_version < kFirstVersionWithZstd)
    return slot.refuse(ErrorCode::kUnsupportedCompressionType,
                       "zstd needs a Produce request of version 7 or higher");
}

void check_header(ProduceSlot& slot, const storage::LogConfig& config) {
  bool too_large = slot.batch.size() > static_cast<size_t>(config.max_message_bytes);
  if (too_large && proto::BatchView(slot.batch).base_offset() == 0)
    return slot.refuse(ErrorCode::kMessageTooLarge, "the batch is larger than max.message.bytes");
  auto batch = proto::validate(slot.batch);
  if (batch) return;
  if (batch.error() == BatchError::kCrcMismatch) return refuse(slot, batch.error());
  slot.error = proto::error_code_of(batch.error());
  slot.message = to_string(batch.error());
}

}  // namespace pelton::broker
