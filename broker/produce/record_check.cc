#include "broker/produce/record_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/record_scan.h"
#include "proto/record_walk.h"

namespace pelton::broker {
namespace {

using proto::BatchView;
using proto::ErrorCode;
using proto::ScannedRecord;

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

// Deltas are the client's: the sum wraps as it does for every reader.
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// All that a batch without a fault needs: one pass, nothing kept of single records.
struct Summary {
  int64_t least_timestamp = INT64_MAX;
  int64_t max_timestamp = proto::kNoTimestamp;
  int32_t largest = 0;
  bool keyless = false;
  bool offsets_follow = true;
  uint64_t plain_bytes = 0;
};

template <class Records>
Summary summarize(Records& records, int64_t base_timestamp) {
  Summary summary;
  ScannedRecord record;
  for (int32_t expected = 0; records.next(record); ++expected) {
    int64_t timestamp = wrapping_add(base_timestamp, record.timestamp_delta);
    if (timestamp != proto::kNoTimestamp)
      summary.least_timestamp = std::min(summary.least_timestamp, timestamp);
    summary.max_timestamp = std::max(summary.max_timestamp, timestamp);
    summary.largest = std::max(summary.largest, record.size);
    summary.keyless |= record.key_size < 0;
    summary.offsets_follow &= record.offset_delta == expected;
    summary.plain_bytes += static_cast<uint32_t>(record.size);
  }
  return summary;
}

// A batch marked LogAppendTime has one time for all records.
void apply_time_type(Summary& summary, const BatchView& batch) {
  if (!batch.log_append_time()) return;
  summary.max_timestamp = std::max(batch.max_timestamp(), proto::kNoTimestamp);
  bool given = batch.max_timestamp() != proto::kNoTimestamp;
  summary.least_timestamp = given ? batch.max_timestamp() : INT64_MAX;
}

// Where the broker gives the time, or there is none, a client has no say in its type.
bool wrong_time_type(const BatchView& batch, const RecordRules& rules) {
  return batch.log_append_time() &&
         (rules.log_append_time || batch.max_timestamp() == proto::kNoTimestamp);
}

bool time_out_of_range(int64_t timestamp, const RecordRules& rules) {
  if (rules.log_append_time || timestamp == proto::kNoTimestamp) return false;
  return timestamp < rules.earliest_ms || timestamp > rules.latest_ms;
}

bool has_faults(const Summary& summary, const BatchView& batch, const RecordRules& rules) {
  if (rules.key_needed && summary.keyless) return true;
  if (rules.offsets_must_follow && !summary.offsets_follow) return true;
  if (wrong_time_type(batch, rules)) return true;
  bool timed = summary.least_timestamp != INT64_MAX;
  return timed && (time_out_of_range(summary.least_timestamp, rules) ||
                   time_out_of_range(summary.max_timestamp, rules));
}

// The second pass, for batches with a fault: which records, and what of each; the first fault counts.
template <class Records>
void collect_errors(Records& records, const BatchView& batch, const RecordRules& rules,
                    RecordFindings& findings) {
  ScannedRecord record;
  auto note = [&](int32_t index, RecordFault fault, int64_t timestamp) {
    bool of_time = fault == RecordFault::kTime || fault == RecordFault::kTimeType;
    if (of_time) findings.error = ErrorCode::kInvalidTimestamp;
    if (findings.errors.size() < kMostRecordErrors) findings.errors.push_back({index, fault, timestamp});
  };
  findings.error = ErrorCode::kInvalidRecord;
  for (int32_t index = 0; records.next(record); ++index) {
    int64_t timestamp = batch.timestamp_of({.timestamp_delta = record.timestamp_delta});
    if (rules.key_needed && record.key_size < 0) {
      note(index, RecordFault::kNoKey, timestamp);
    } else if (time_out_of_range(timestamp, rules)) {
      note(index, RecordFault::kTime, timestamp);
    } else if (wrong_time_type(batch, rules)) {
      note(index, RecordFault::kTimeType, timestamp);
    } else if (rules.offsets_must_follow && record.offset_delta != index) {
      note(index, RecordFault::kOffsetDelta, timestamp);
    }
  }
  findings.why = findings.error == ErrorCode::kInvalidTimestamp
                     ? "the batch was refused: records with an invalid timestamp"
                     : "the batch was refused: invalid records";
}

void judge_compression(proto::CompressionError error, RecordFindings& findings) {
  switch (error) {
    case proto::CompressionError::kTooLarge:
      findings.too_large = true;
      findings.why = "the records decompress to more than is taken";
      return;
    case proto::CompressionError::kStopped:
      findings.error = ErrorCode::kNotLeaderOrFollower;
      findings.why = "the broker is stopping";
      return;
    case proto::CompressionError::kOutOfMemory:
      findings.error = ErrorCode::kUnknownServerError;
      findings.why = "no memory to decompress the records";
      return;
    case proto::CompressionError::kTruncated:
    case proto::CompressionError::kCorrupt:
    case proto::CompressionError::kWindowTooLarge:
      findings.why = "the records cannot be decompressed";
      return;
  }
}

// `open(records)` calls its argument with a fresh walk over the records.
template <class Open>
RecordFindings check(const BatchView& batch, const RecordRules& rules, const Open& open) {
  RecordFindings findings;
  Summary summary;
  open([&](auto& records) {
    summary = summarize(records, batch.base_timestamp());
    if (auto status = records.status(); !status) {
      findings.error = ErrorCode::kInvalidRecord;
      findings.why = to_string(status.error());
      if constexpr (requires { records.compression_error(); })
        if (auto error = records.compression_error()) judge_compression(*error, findings);
    }
  });
  if (findings.error != ErrorCode::kNone) return findings;
  if (batch.codec() != proto::Codec::kNone && summary.largest > rules.largest_record) {
    findings.error = ErrorCode::kInvalidRecord;
    findings.why = "a record is larger than max.decompressed.message.bytes";
    return findings;
  }
  apply_time_type(summary, batch);
  if (has_faults(summary, batch, rules))
    open([&](auto& records) { collect_errors(records, batch, rules, findings); });
  findings.max_timestamp = summary.max_timestamp;
  findings.offsets_follow = summary.offsets_follow;
  findings.plain_bytes = summary.plain_bytes;
  return findings;
}

}  // namespace

RecordRules RecordRules::of(const storage::LogConfig& config, int64_t now_ms) {
  RecordRules rules;
  rules.key_needed = config.compact_policy;
  rules.log_append_time = config.log_append_time;
  rules.earliest_ms = saturating_add(now_ms, -config.timestamp_before_max_ms);
  rules.latest_ms = saturating_add(now_ms, config.timestamp_after_max_ms);
  rules.largest_record = config.max_decompressed_message_bytes;
  return rules;
}

std::string describe(const RecordError& error, const RecordRules& rules) {
  switch (error.fault) {
    case RecordFault::kNoKey: return "a record of a compacted topic needs a key";
    case RecordFault::kTime:
      return fmt::format("the timestamp {} is outside of what the topic takes now, {} to {}",
                         error.timestamp, rules.earliest_ms, rules.latest_ms);
    case RecordFault::kTimeType: return "a producer may not mark its records LogAppendTime";
    case RecordFault::kOffsetDelta: return "the record's offset delta is not its place in the batch";
  }
  return "?";
}

RecordFindings check_records(const BatchView& batch, const RecordRules& rules, size_t max_output,
                             proto::CodecContexts* contexts) {
  if (batch.codec() == proto::Codec::kNone) {
    return check(batch, rules, [&](const auto& visit) {
      proto::RecordWalk records(batch.records_bytes(), batch.count());
      visit(records);
    });
  }
  return check(batch, rules, [&](const auto& visit) {
    proto::RecordScanner records(batch.codec(), batch.records_bytes(), batch.count(), max_output, contexts);
    visit(records);
  });
}

}  // namespace pelton::broker
