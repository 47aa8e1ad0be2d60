// What is checked of each record of a client's batch, by the rules of its topic.
//
// Pure: no clock, no log; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/batch.h"
#include "proto/error_code.h"
#include "storage/log_config.h"

namespace pelton::broker {

struct RecordRules {
  bool key_needed = false;           // the topic is compacted
  bool log_append_time = false;      // the broker's clock gives the time: the record's is not looked at
  bool offsets_must_follow = false;  // deltas are 0, 1, 2, ... or the record is refused
  // What a record's time may be, when it has one.
  int64_t earliest_ms = INT64_MIN;
  int64_t latest_ms = INT64_MAX;
  int32_t largest_record = INT32_MAX;  // of a compressed batch: max.decompressed.message.bytes

  static RecordRules of(const storage::LogConfig& config, int64_t now_ms);
};

enum class RecordFault : uint8_t { kNoKey, kTime, kTimeType, kOffsetDelta };

struct RecordError {
  int32_t index = 0;
  RecordFault fault = RecordFault::kNoKey;
  int64_t timestamp = 0;
  friend bool operator==(const RecordError&, const RecordError&) = default;
};
// One sentence for the client.
std::string describe(const RecordError& error, const RecordRules& rules);

// So many are named; a batch may have millions.
inline constexpr size_t kMostRecordErrors = 1'000;

struct RecordFindings {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::string_view why;               // a literal, when there is an error
  std::vector<RecordError> errors;    // by index; empty when the records cannot be read at all
  bool too_large = false;             // more than max_output bytes came out: the error says the rest
  // When there is no error:
  int64_t max_timestamp = proto::kNoTimestamp;  // what the batch's header should say on a CreateTime topic
  bool canonical = true;              // as a broker writes records: see prepare.cc
  uint64_t plain_bytes = 0;           // that came out of a compressed batch
};

// Walks the records. `batch` has passed proto::validate; at most max_output bytes are decompressed.
RecordFindings check_records(const proto::BatchView& batch, const RecordRules& rules, size_t max_output,
                             proto::CodecContexts* contexts);

}  // namespace pelton::broker
