#include "broker/produce/record_check.h"

#include <algorithm>
#include <optional>
#include <type_traits>

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

// All that a batch without a fault needs: one pass with a few numbers, nothing kept of single records.
struct Summary {
  int64_t least_delta = INT64_MAX;  // of timestamps
  int64_t most_delta = INT64_MIN;
  int32_t key_bits = 0;             // negative: a record has no key
  int32_t offset_bits = 0;          // not zero: a record is not at its place
  int32_t attribute_bits = 0;       // not zero: a record has attributes, of which none is defined
  int64_t first_delta = 0;
  int32_t largest = 0;
  uint64_t plain_bytes = 0;
};

template <class Records>
constexpr bool kPlain = std::is_same_v<Records, proto::RecordWalk>;

template <class Records>
Summary summarize(Records& walk) {
  // A walk over plain records is a few words: a copy of our own stays in registers.
  std::conditional_t<kPlain<Records>, Records, Records&> records = walk;
  Summary summary;
  ScannedRecord record;
  for (int32_t expected = 0; records.next(record); ++expected) {
    if (expected == 0) summary.first_delta = record.timestamp_delta;
    summary.least_delta = std::min(summary.least_delta, record.timestamp_delta);
    summary.most_delta = std::max(summary.most_delta, record.timestamp_delta);
    summary.key_bits |= record.key_size;
    summary.offset_bits |= record.offset_delta ^ expected;
    summary.attribute_bits |= record.attributes;
    if constexpr (!kPlain<Records>) {
      summary.largest = std::max(summary.largest, record.size);
      summary.plain_bytes += static_cast<uint32_t>(record.size);
    }
  }
  if constexpr (kPlain<Records>) walk = records;
  return summary;
}

// The times of a batch's records, where they have one.
struct Times {
  bool any = false;
  int64_t least = INT64_MAX;
  int64_t most = proto::kNoTimestamp;  // what the header should say; never less than kNoTimestamp

  void add(int64_t timestamp) {
    if (timestamp == proto::kNoTimestamp) return;
    any = true;
    least = std::min(least, timestamp);
    most = std::max(most, timestamp);
  }
};

// From the summary, if that is enough: some record may lie at -1, which is no time, or wrap.
std::optional<Times> times_of(const Summary& summary, const BatchView& batch) {
  Times times;
  if (batch.log_append_time()) {  // one time for all
    times.add(batch.max_timestamp());
    return times;
  }
  int64_t least, most;
  bool wraps = __builtin_add_overflow(batch.base_timestamp(), summary.least_delta, &least) ||
               __builtin_add_overflow(batch.base_timestamp(), summary.most_delta, &most);
  if (wraps || (least < 0 && least != most)) return std::nullopt;
  times.add(least);
  times.add(most);
  return times;
}

template <class Records>
Times exact_times(Records& records, const BatchView& batch) {
  Times times;
  ScannedRecord record;
  while (records.next(record)) times.add(batch.timestamp_at(record.timestamp_delta));
  return times;
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

bool has_faults(const Summary& summary, const Times& times, const BatchView& batch,
                const RecordRules& rules) {
  if (rules.key_needed && summary.key_bits < 0) return true;
  if (rules.offsets_must_follow && summary.offset_bits != 0) return true;
  if (wrong_time_type(batch, rules)) return true;
  return times.any &&
         (time_out_of_range(times.least, rules) || time_out_of_range(times.most, rules));
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
    int64_t timestamp = batch.timestamp_at(record.timestamp_delta);
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
    summary = summarize(records);
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
  std::optional<Times> times = times_of(summary, batch);
  if (!times) open([&](auto& records) { times = exact_times(records, batch); });
  if (has_faults(summary, *times, batch, rules))
    open([&](auto& records) { collect_errors(records, batch, rules, findings); });
  findings.max_timestamp = times->most;
  findings.canonical = summary.offset_bits == 0 && summary.attribute_bits == 0 &&
                       summary.first_delta == 0 && !batch.log_append_time();
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
