// One record of a batch v2 and the walk over the uncompressed records of a batch.
//   varint length, i8 attributes, varlong timestamp delta, varint offset delta,
//   varint-length key, varint-length value (negative length: null), varint count of headers, headers.
// Views point into the bytes given to the iterator and live as long as those. Everything read here is
// hostile: no length is believed before it was held against the bytes left, nothing is allocated.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::proto {

enum class RecordError : uint8_t {
  kTruncated,       // the bytes end before `count` records were read
  kBadVarint,       // a number is too long or does not fit
  kBadLength,       // a record, key, value or header reaches beyond its container, or is negative
  kBadHeaderCount,  // negative, or more headers than bytes left
  kSizeMismatch,    // a record's content is shorter than its length
  kTrailingBytes,   // bytes left after `count` records
  kBadCompression,  // record_scan.h only: the compressed block cannot be read
};
std::string_view to_string(RecordError error);

struct RecordHeader {
  Bytes key;
  std::optional<Bytes> value;
};

// Walks headers that RecordIterator has already checked.
class RecordHeaderIterator {
 public:
  RecordHeaderIterator(Bytes bytes, int32_t count) : left_(bytes), count_(count) {}
  bool next(RecordHeader& header);

 private:
  Bytes left_;
  int32_t count_;
};

struct RecordView {
  int8_t attributes = 0;
  int64_t timestamp_delta = 0;
  int32_t offset_delta = 0;
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  int32_t header_count = 0;
  Bytes header_bytes;

  RecordHeaderIterator headers() const { return {header_bytes, header_count}; }
};

// Yields exactly `count` records that fill `records` exactly, or an error. Use:
//   RecordView record;
//   while (records.next(record)) ...;
//   if (!records.status()) ...
class RecordIterator {
 public:
  RecordIterator(Bytes records, int32_t count) : left_(records), count_(count) {}

  // False at the end and at the first error.
  bool next(RecordView& record);
  Result<void, RecordError> status() const;

 private:
  bool fail(RecordError error);

  Bytes left_;
  int32_t count_;
  std::optional<RecordError> error_;
};

// What a writer gives for one record.
struct RecordContent {
  int64_t timestamp_delta = 0;
  int32_t offset_delta = 0;
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  std::span<const RecordHeader> headers;
};

// The bytes append_record adds.
size_t record_size(const RecordContent& record);
void append_record(const RecordContent& record, std::vector<uint8_t>& out);

}  // namespace pelton::proto
