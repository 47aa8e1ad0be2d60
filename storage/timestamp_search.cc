#include "storage/timestamp_search.h"

#include <vector>

#include "proto/record_scan.h"
#include "storage/batch_reader.h"

namespace pelton::storage {
namespace {

using proto::ErrorCode;
using Answer = Result<std::optional<TimestampOffset>, ErrorCode>;

// The first record of the batch that the search is for.
Answer find_record(const TimestampSearch& search, const proto::BatchView& batch, size_t max_output,
                   proto::CodecContexts* contexts) {
  proto::RecordScanner records(batch.codec(), batch.records_bytes(), batch.count(), max_output, contexts);
  proto::ScannedRecord record;
  while (records.next(record)) {
    int64_t time = batch.timestamp_at(record.timestamp_delta);
    int64_t offset = batch.offset_at(record.offset_delta);
    if (time < search.timestamp || offset < search.from_offset) continue;
    return TimestampOffset{time, offset, batch.partition_leader_epoch()};
  }
  if (records.status()) return TimestampOffset{};
  if (records.compression_error() == proto::CompressionError::kTooLarge) return std::nullopt;
  return std::unexpected(ErrorCode::kCorruptMessage);
}

}  // namespace

Answer TimestampSearch::run(const Limits& limits, proto::CodecContexts* contexts) const {
  HeaderReader headers(*files, file, position, end);
  std::vector<uint8_t> batch;
  size_t looked_at = 0;
  ReadStep step = headers.next();
  for (; step == ReadStep::kBatch; step = headers.next()) {
    if (++looked_at > limits.headers) return std::nullopt;
    proto::BatchView header = headers.header();
    if (header.max_timestamp() < timestamp || header.last_offset() < from_offset) continue;
    if (headers.size() > limits.batch) return std::nullopt;
    batch.resize(headers.size());
    Result<size_t> got = files->pread(file, batch, headers.position());
    if (!got || *got < batch.size()) return std::unexpected(ErrorCode::kKafkaStorageError);
    Answer found = find_record(*this, proto::BatchView(batch), limits.output, contexts);
    if (!found || !*found || (*found)->offset >= 0) return found;
  }
  if (step == ReadStep::kFailed) return std::unexpected(ErrorCode::kKafkaStorageError);
  if (step == ReadStep::kBad) return std::unexpected(ErrorCode::kCorruptMessage);
  return TimestampOffset{};
}

}  // namespace pelton::storage
