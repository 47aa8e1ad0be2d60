#include "proto/record.h"

#include "proto/varint.h"
#include "reactor/base/check.h"

namespace pelton::proto {
namespace {

using Failure = std::optional<RecordError>;

// A varint length and that many bytes; a negative length is null.
Failure take_nullable(Bytes& from, std::optional<Bytes>& value) {
  int32_t length;
  if (!take_varint(from, length)) return RecordError::kBadVarint;
  if (length < 0) {
    value.reset();
    return std::nullopt;
  }
  if (static_cast<size_t>(length) > from.size()) return RecordError::kBadLength;
  value = from.first(static_cast<size_t>(length));
  from = from.subspan(static_cast<size_t>(length));
  return std::nullopt;
}

Failure take_header(Bytes& from, RecordHeader& header) {
  std::optional<Bytes> key;
  if (Failure failure = take_nullable(from, key)) return failure;
  if (!key) return RecordError::kBadLength;
  header.key = *key;
  return take_nullable(from, header.value);
}

Failure take_headers(Bytes& body, RecordView& record) {
  if (!take_varint(body, record.header_count)) return RecordError::kBadVarint;
  if (record.header_count < 0 || static_cast<size_t>(record.header_count) > body.size())
    return RecordError::kBadHeaderCount;
  Bytes start = body;
  RecordHeader header;
  for (int32_t i = 0; i < record.header_count; ++i)
    if (Failure failure = take_header(body, header)) return failure;
  record.header_bytes = start.first(start.size() - body.size());
  return std::nullopt;
}

Failure take_body(Bytes body, RecordView& record) {
  if (body.empty()) return RecordError::kBadLength;
  record.attributes = static_cast<int8_t>(body[0]);
  body = body.subspan(1);
  if (!take_varint(body, record.timestamp_delta)) return RecordError::kBadVarint;
  if (!take_varint(body, record.offset_delta)) return RecordError::kBadVarint;
  if (Failure failure = take_nullable(body, record.key)) return failure;
  if (Failure failure = take_nullable(body, record.value)) return failure;
  if (Failure failure = take_headers(body, record)) return failure;
  if (!body.empty()) return RecordError::kSizeMismatch;
  return std::nullopt;
}

size_t nullable_size(const std::optional<Bytes>& value) {
  if (!value) return varint_size(int32_t{-1});
  return varint_size(static_cast<int32_t>(value->size())) + value->size();
}

uint8_t* put_nullable(uint8_t* to, const std::optional<Bytes>& value) {
  if (!value) return put_varint(to, int32_t{-1});
  to = put_varint(to, static_cast<int32_t>(value->size()));
  if (!value->empty()) std::memcpy(to, value->data(), value->size());
  return to + value->size();
}

size_t body_size(const RecordContent& record) {
  size_t size = 1 + varint_size(record.timestamp_delta) + varint_size(record.offset_delta) +
                nullable_size(record.key) + nullable_size(record.value) +
                varint_size(static_cast<int32_t>(record.headers.size()));
  for (const RecordHeader& header : record.headers)
    size += nullable_size(header.key) + nullable_size(header.value);
  CHECK(size <= INT32_MAX, "a record fits the format");
  return size;
}

}  // namespace

std::string_view to_string(RecordError error) {
  switch (error) {
    case RecordError::kTruncated: return "records end early";
    case RecordError::kBadVarint: return "bad varint";
    case RecordError::kBadLength: return "bad length in a record";
    case RecordError::kBadHeaderCount: return "bad header count";
    case RecordError::kSizeMismatch: return "record size mismatch";
    case RecordError::kTrailingBytes: return "bytes after the last record";
    case RecordError::kBadCompression: return "unreadable compressed records";
  }
  return "?";
}

bool RecordHeaderIterator::next(RecordHeader& header) {
  if (count_ == 0) return false;
  --count_;
  CHECK(!take_header(left_, header), "headers were checked by the record iterator");
  return true;
}

bool RecordIterator::fail(RecordError error) {
  error_ = error;
  return false;
}

bool RecordIterator::next(RecordView& record) {
  if (error_) return false;
  if (count_ <= 0) return left_.empty() ? false : fail(RecordError::kTrailingBytes);
  if (left_.empty()) return fail(RecordError::kTruncated);
  int32_t length;
  if (!take_varint(left_, length)) return fail(RecordError::kBadVarint);
  if (length < 0 || static_cast<size_t>(length) > left_.size()) return fail(RecordError::kBadLength);
  if (Failure failure = take_body(left_.first(static_cast<size_t>(length)), record))
    return fail(*failure);
  left_ = left_.subspan(static_cast<size_t>(length));
  --count_;
  return true;
}

Result<void, RecordError> RecordIterator::status() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

size_t record_size(const RecordContent& record) {
  size_t body = body_size(record);
  return varint_size(static_cast<int32_t>(body)) + body;
}

void append_record(const RecordContent& record, std::vector<uint8_t>& out) {
  size_t body = body_size(record);
  size_t start = out.size();
  out.resize(start + varint_size(static_cast<int32_t>(body)) + body);
  uint8_t* to = put_varint(out.data() + start, static_cast<int32_t>(body));
  *to++ = 0;  // record attributes: none is defined
  to = put_varint(to, record.timestamp_delta);
  to = put_varint(to, record.offset_delta);
  to = put_nullable(to, record.key);
  to = put_nullable(to, record.value);
  to = put_varint(to, static_cast<int32_t>(record.headers.size()));
  for (const RecordHeader& header : record.headers) {
    to = put_nullable(to, header.key);
    to = put_nullable(to, header.value);
  }
  CHECK(to == out.data() + out.size());
}

}  // namespace pelton::proto
