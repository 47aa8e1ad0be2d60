// Walks the records of a batch through its codec in constant memory (one small window of decompressed
// bytes), without keeping keys and values: enough for offset-for-time lookups and for checking records.
// Holds every record to the rules of record.h. The compressed bytes must outlive the scanner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "proto/compression.h"
#include "proto/record.h"
#include "reactor/base/bytes.h"
#include "reactor/base/result.h"

namespace pelton::proto {

struct ScannedRecord {
  int32_t size = 0;  // of the record, without its length
  int8_t attributes = 0;
  int64_t timestamp_delta = 0;
  int32_t offset_delta = 0;
  int32_t key_size = -1;    // -1: null
  int32_t value_size = -1;  // -1: null

  friend bool operator==(const ScannedRecord&, const ScannedRecord&) = default;
};

class RecordScanner {
 public:
  // Reads at most max_output decompressed bytes.
  RecordScanner(Codec codec, Bytes records, int32_t count, size_t max_output,
                CodecContexts* contexts = nullptr);
  RecordScanner(const RecordScanner&) = delete;  // ready_ points into window_
  RecordScanner& operator=(const RecordScanner&) = delete;

  // False at the end and at the first error.
  bool next(ScannedRecord& record);
  Result<void, RecordError> status() const;
  // What the decompressor said, after kBadCompression.
  std::optional<CompressionError> compression_error() const { return compression_error_; }

 private:
  static constexpr size_t kWindowSize = 8192;

  bool fail(RecordError error);
  bool fill();
  bool take_body(ScannedRecord& record);
  bool take_field(int32_t& size, bool nullable);
  bool take_headers();
  bool skip(size_t count);
  template <class T>
  bool take_number(T& value);

  DecompressStream stream_;
  std::array<uint8_t, kWindowSize> window_;
  Bytes ready_;           // decompressed, not yet taken: a part of window_
  bool at_end_ = false;   // the stream has given its last byte
  size_t body_left_ = 0;  // of the current record
  int32_t count_;
  std::optional<RecordError> error_;
  std::optional<CompressionError> compression_error_;
};

}  // namespace pelton::proto
