#include "proto/wire.h"

#include <algorithm>
#include <cstring>

namespace pelton::proto {
namespace {

// What an element of an array takes of the arena's limit besides its own size: whoever reads the message makes
// something of every element, and a number of four bytes can become a row of an answer.
constexpr size_t kElementCost = 24;

uint32_t zigzag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}
uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

std::string_view cut(std::string_view text) { return text.substr(0, kMaxStringBytes); }

size_t prefix_size(bool flexible, size_t length, size_t classic) {
  return flexible ? uvarint_size(static_cast<uint32_t>(length) + 1) : classic;
}

}  // namespace

std::string_view name(DecodeError error) {
  switch (error) {
    case DecodeError::kNone: return "none";
    case DecodeError::kTruncated: return "truncated";
    case DecodeError::kBadVarint: return "bad varint";
    case DecodeError::kBadLength: return "bad length";
    case DecodeError::kBadTaggedField: return "bad tagged field";
    case DecodeError::kTooLarge: return "too large";
    case DecodeError::kUnsupportedVersion: return "unsupported version";
    case DecodeError::kUnknownApi: return "unknown api";
    case DecodeError::kBadFrameSize: return "bad frame size";
  }
  return "?";
}

void WireReader::fail(DecodeError error) {
  if (ok()) error_ = error;
  at_ = end_;
}

Uuid WireReader::read_uuid() {
  Uuid id;
  Bytes raw = read_raw(id.bytes.size());
  if (!raw.empty()) std::memcpy(id.bytes.data(), raw.data(), id.bytes.size());
  return id;
}

uint32_t WireReader::read_uvarint() {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    uint8_t byte = fixed<uint8_t>();
    if (shift == 28 && byte > 0x0f) break;
    value |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok() ? value : 0;
  }
  fail(DecodeError::kBadVarint);
  return 0;
}

int32_t WireReader::read_varint() {
  uint32_t raw = read_uvarint();
  return static_cast<int32_t>((raw >> 1) ^ (0u - (raw & 1)));
}

int64_t WireReader::read_varlong() {
  uint64_t raw = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t byte = fixed<uint8_t>();
    if (shift == 63 && byte > 0x01) break;
    raw |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok() ? static_cast<int64_t>((raw >> 1) ^ (0ull - (raw & 1))) : 0;
  }
  fail(DecodeError::kBadVarint);
  return 0;
}

Bytes WireReader::read_raw(size_t size) {
  if (size > left()) {
    fail(DecodeError::kTruncated);
    return {};
  }
  Bytes raw{at_, size};
  at_ += size;
  return raw;
}

// A length as written, -1 or below for null.
int64_t WireReader::read_length(bool flexible, bool short_prefix) {
  if (flexible) return static_cast<int64_t>(read_uvarint()) - (ok() ? 1 : 0);
  return short_prefix ? read_i16() : read_i32();
}

std::optional<std::string_view> WireReader::read_nullable_string(bool flexible, bool nullable) {
  int64_t length = read_length(flexible, true);
  if (length < 0 && nullable) return std::nullopt;
  if (length < 0 || length > static_cast<int64_t>(kMaxStringBytes)) {
    fail(DecodeError::kBadLength);
    return std::string_view();
  }
  return as_text(read_raw(static_cast<size_t>(length)));
}

std::string_view WireReader::read_string(bool flexible) {
  return *read_nullable_string(flexible, false);
}

std::optional<Bytes> WireReader::read_nullable_bytes(bool flexible, bool nullable) {
  int64_t length = read_length(flexible, false);
  if (length < 0 && nullable) return std::nullopt;
  if (length < 0) {
    fail(DecodeError::kBadLength);
    return Bytes();
  }
  return read_raw(static_cast<size_t>(length));
}

Bytes WireReader::read_bytes(bool flexible) { return *read_nullable_bytes(flexible, false); }

Records WireReader::read_records(bool flexible, bool nullable) {
  std::optional<Bytes> bytes = read_nullable_bytes(flexible, nullable);
  return bytes ? Records::of(*bytes) : Records();
}

int32_t WireReader::read_count(bool flexible, bool nullable, size_t min_element_bytes) {
  int64_t count = read_length(flexible, false);
  if (count < 0) {
    if (!nullable) fail(DecodeError::kBadLength);
    return nullable ? -1 : 0;
  }
  if (count > INT32_MAX || static_cast<uint64_t>(count) > left() / min_element_bytes) {
    fail(DecodeError::kTruncated);
    return 0;
  }
  size_t cost = static_cast<size_t>(count) * kElementCost;
  if (cost > arena_->limit() - arena_->used()) {
    fail(DecodeError::kTooLarge);
    return 0;
  }
  arena_->set_limit(arena_->limit() - cost);
  return static_cast<int32_t>(count);
}

void WireReader::skip_tagged_fields() {
  TagReader tags(*this);
  while (tags.next()) tags.skip();
}

void TagReader::leave() {
  bool whole = in_.at_ == in_.end_;
  in_.end_ = section_end_;
  if (!in_.ok()) in_.at_ = in_.end_;
  if (!whole) in_.fail(DecodeError::kBadTaggedField);
}

bool TagReader::next() {
  if (tag_ >= 0) leave();
  if (left_ == 0 || !in_.ok()) return false;
  --left_;
  uint32_t tag = in_.read_uvarint();
  uint32_t size = in_.read_uvarint();
  if (!in_.ok()) return false;
  if (static_cast<int64_t>(tag) <= tag_) in_.fail(DecodeError::kBadTaggedField);
  if (size > in_.left()) in_.fail(DecodeError::kTruncated);
  if (!in_.ok()) return false;
  tag_ = tag;
  in_.end_ = in_.at_ + size;
  return true;
}

void WireWriter::write_uvarint(uint32_t value) {
  for (; value >= 0x80; value >>= 7) fixed(static_cast<uint8_t>(value | 0x80));
  fixed(static_cast<uint8_t>(value));
}

void WireWriter::write_varint(int32_t value) { write_uvarint(zigzag(value)); }

void WireWriter::write_varlong(int64_t value) {
  uint64_t raw = zigzag(value);
  for (; raw >= 0x80; raw >>= 7) fixed(static_cast<uint8_t>(raw | 0x80));
  fixed(static_cast<uint8_t>(raw));
}

void WireWriter::write_raw(Bytes bytes) {
  if (!bytes.empty()) std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
}

void WireWriter::write_string(bool flexible, std::string_view text) {
  text = cut(text);
  if (flexible) {
    write_uvarint(static_cast<uint32_t>(text.size()) + 1);
  } else {
    write_i16(static_cast<int16_t>(text.size()));
  }
  write_raw(as_bytes(text));
}

void WireWriter::write_nullable_string(bool flexible, bool nullable,
                                       const std::optional<std::string_view>& text) {
  if (text || !nullable) return write_string(flexible, text.value_or(std::string_view()));
  if (flexible) return write_uvarint(0);
  write_i16(-1);
}

void WireWriter::write_bytes(bool flexible, Bytes bytes) {
  write_count(flexible, bytes.size());
  write_raw(bytes);
}

void WireWriter::write_nullable_bytes(bool flexible, bool nullable,
                                      const std::optional<Bytes>& bytes) {
  if (bytes) return write_bytes(flexible, *bytes);
  write_null_array(flexible, nullable);
}

void WireWriter::write_records(bool flexible, bool nullable, const Records& records) {
  if (records.null) return write_null_array(flexible, nullable);
  write_count(flexible, records.size());
  if (records.external_size == 0) return write_raw(records.bytes);
  add_hole({static_cast<uint32_t>(at_), records.external_size, records.token});
}

void WireWriter::write_count(bool flexible, size_t count) {
  CHECK(count <= INT32_MAX);
  if (flexible) return write_uvarint(static_cast<uint32_t>(count) + 1);
  write_i32(static_cast<int32_t>(count));
}

void WireWriter::write_null_array(bool flexible, bool nullable) {
  if (!nullable) return write_count(flexible, 0);
  if (flexible) return write_uvarint(0);
  write_i32(-1);
}

void WireWriter::add_hole(Hole hole) {
  if (hole_count_ < kFewHoles) {
    few_holes_[hole_count_++] = hole;
    return;
  }
  if (more_holes_.empty()) more_holes_.assign(few_holes_, few_holes_ + hole_count_);
  more_holes_.push_back(hole);
  ++hole_count_;
}

size_t varint_size(int32_t value) { return uvarint_size(zigzag(value)); }

size_t varlong_size(int64_t value) {
  return (static_cast<size_t>(std::bit_width(zigzag(value) | 1)) + 6) / 7;
}

size_t string_size(bool flexible, std::string_view text) {
  return prefix_size(flexible, cut(text).size(), sizeof(int16_t)) + cut(text).size();
}

size_t string_size(bool flexible, const std::optional<std::string_view>& text) {
  if (text) return string_size(flexible, *text);
  return flexible ? 1 : sizeof(int16_t);
}

size_t bytes_size(bool flexible, Bytes bytes) {
  return prefix_size(flexible, bytes.size(), sizeof(int32_t)) + bytes.size();
}

size_t bytes_size(bool flexible, const std::optional<Bytes>& bytes) {
  if (bytes) return bytes_size(flexible, *bytes);
  return flexible ? 1 : sizeof(int32_t);
}

size_t records_size(bool flexible, const Records& records) {
  if (records.null) return flexible ? 1 : sizeof(int32_t);
  return prefix_size(flexible, records.size(), sizeof(int32_t)) + records.size();
}

}  // namespace pelton::proto
