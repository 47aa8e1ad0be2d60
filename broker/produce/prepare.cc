#include "broker/produce/prepare.h"

#include <algorithm>
#include <array>

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::Codec;
using proto::CompressionError;
using proto::ErrorCode;
using Written = Result<void, CompressionError>;

constexpr size_t kPiece = 16 * 1024;

int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

Written pass_through(const BatchView& batch, size_t max_output, proto::CodecContexts* contexts,
                     proto::CompressStream& out) {
  if (batch.codec() == Codec::kNone) return out.write(batch.records_bytes());
  proto::DecompressStream in(batch.codec(), batch.records_bytes(), max_output, contexts);
  std::array<uint8_t, kPiece> piece;
  while (true) {
    auto read = in.read(piece);
    if (!read) return std::unexpected(read.error());
    if (*read == 0) return {};
    if (Written written = out.write(Bytes(piece).first(*read)); !written) return written;
  }
}

// For batches that clients wrote in their own way: offsets become the records' places, the first record's time
// the base of the others, attributes that nobody defined go; as in Apache Kafka when it compresses anew. Rare
// enough to decompress as a whole.
Written write_canonical(const BatchView& batch, size_t max_output, int64_t& base_timestamp,
                        proto::CompressStream& out) {
  std::vector<uint8_t> plain;
  if (auto done = proto::decompress(batch.codec(), batch.records_bytes(), max_output, plain); !done)
    return done;
  proto::RecordIterator records(plain, batch.count());
  proto::RecordView record;
  std::vector<proto::RecordHeader> headers;
  std::vector<uint8_t> piece;
  for (int32_t index = 0; records.next(record); ++index) {
    int64_t timestamp = batch.timestamp_of(record);
    if (index == 0) base_timestamp = timestamp;
    headers.clear();
    proto::RecordHeaderIterator each = record.headers();
    for (proto::RecordHeader header; each.next(header);) headers.push_back(header);
    piece.clear();
    proto::append_record({.timestamp_delta = wrapping_difference(timestamp, base_timestamp),
                          .offset_delta = index,
                          .key = record.key,
                          .value = record.value,
                          .headers = headers},
                         piece);
    if (Written written = out.write(piece); !written) return written;
  }
  return {};
}

void refuse(PreparedBatch& prepared, CompressionError error) {
  switch (error) {
    case CompressionError::kTooLarge:
      prepared.error = ErrorCode::kMessageTooLarge;
      prepared.why = "the batch is larger than max.message.bytes after it was compressed anew";
      return;
    case CompressionError::kStopped:
      prepared.error = ErrorCode::kNotLeaderOrFollower;
      prepared.why = "the broker is stopping";
      return;
    default:
      prepared.error = ErrorCode::kUnknownServerError;
      prepared.why = "the batch could not be compressed anew";
      return;
  }
}

// The batch's header and its records, compressed anew, behind it.
Written write_anew(const BatchView& batch, const BatchRules& rules, const RecordFindings& findings,
                   size_t max_output, proto::CodecContexts* contexts, std::vector<uint8_t>& to) {
  Bytes header = batch.bytes().first(proto::kBatchHeaderSize);
  to.assign(header.begin(), header.end());
  size_t room = rules.largest_batch - std::min(rules.largest_batch, proto::kBatchHeaderSize);
  int64_t base_timestamp = batch.base_timestamp();
  {
    proto::CompressStream out(rules.target(batch), rules.levels, to, room, contexts);
    Written done = findings.canonical ? pass_through(batch, max_output, contexts, out)
                                      : write_canonical(batch, max_output, base_timestamp, out);
    if (done) done = out.finish();
    if (!done) return done;
  }
  proto::complete_rebuilt(to, rules.target(batch), base_timestamp, findings.max_timestamp);
  return {};
}

void rebuild(const BatchView& batch, const BatchRules& rules, const RecordFindings& findings,
             size_t max_output, proto::CodecContexts* contexts, PreparedBatch& prepared) {
  Written done = write_anew(batch, rules, findings, max_output, contexts, prepared.rebuilt);
  if (!done) {
    prepared.rebuilt = {};
    return refuse(prepared, done.error());
  }
  prepared.batch = prepared.rebuilt;
}

}  // namespace

BatchRules BatchRules::of(const storage::LogConfig& config, int64_t now_ms) {
  BatchRules rules;
  rules.records = RecordRules::of(config, now_ms);
  rules.codec = config.compression;
  rules.levels = {.gzip = config.compression_gzip_level,
                  .lz4 = config.compression_lz4_level,
                  .zstd = config.compression_zstd_level};
  rules.largest_batch = static_cast<size_t>(config.max_message_bytes);
  return rules;
}

PreparedBatch prepare(MutableBytes bytes, const BatchRules& rules, const PrepareLimits& limits,
                      proto::CodecContexts* contexts) {
  PreparedBatch prepared;
  prepared.batch = bytes;
  BatchView batch{Bytes(bytes)};
  bool same_codec = rules.target(batch) == batch.codec();
  if (!same_codec && !limits.may_rebuild) {
    prepared.needs_more = true;
    return prepared;
  }
  RecordRules record_rules = rules.records;
  record_rules.offsets_must_follow = same_codec;
  RecordFindings findings = check_records(batch, record_rules, limits.max_output, contexts);
  prepared.plain_bytes = findings.plain_bytes;
  if (findings.error != ErrorCode::kNone) {
    prepared.needs_more = findings.too_large && !limits.final;
    prepared.error = findings.error;
    prepared.why = findings.why;
    prepared.errors = std::move(findings.errors);
    return prepared;
  }
  if (!same_codec) {
    rebuild(batch, rules, findings, limits.max_output, contexts, prepared);
    return prepared;
  }
  // The log stamps its own time itself.
  bool stamp = !record_rules.log_append_time &&
               (batch.log_append_time() || batch.max_timestamp() != findings.max_timestamp);
  if (stamp) proto::set_max_timestamp_and_create_time(bytes, findings.max_timestamp);
  return prepared;
}

}  // namespace pelton::broker
