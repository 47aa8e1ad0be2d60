// Reading and writing the primitives of the Kafka protocol.
//
// WireReader reads a frame that may hold anything. Its error is sticky: after the first error every
// read gives zero or empty and consumes nothing, so that a decoder checks once at its end. Nothing
// is allocated from a number on the wire before that number was checked against the bytes left.
// WireWriter writes into a buffer of exactly the size that the message announced; running past it
// is a bug (CHECK). Both belong to one request on one shard and own nothing but the holes.
//
// `flexible` chooses the compact forms (unsigned varint of length + 1) over the classic ones.
// A string longer than kMaxStringBytes is an error when read and is cut when written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proto/arena.h"
#include "proto/types.h"
#include "reactor/base/bytes.h"
#include "reactor/base/check.h"

namespace pelton::proto {

enum class DecodeError : uint8_t {
  kNone,
  kTruncated,           // fewer bytes than a length or a type needs
  kBadVarint,           // too long, or bits beyond the type
  kBadLength,           // negative, null where null is not allowed, or beyond the limit
  kBadTaggedField,      // tags not ascending, or a field that does not fill its size
  kTooLarge,            // the arena's limit
  kUnsupportedVersion,  // the message has no such version
  kUnknownApi,
  kBadFrameSize,
};
std::string_view name(DecodeError error);

inline constexpr size_t kMaxStringBytes = 0x7fff;

class WireReader {
 public:
  WireReader(Bytes frame, Arena& arena)
      : at_(frame.data()), end_(frame.data() + frame.size()), arena_(&arena) {}

  bool ok() const { return error_ == DecodeError::kNone; }
  DecodeError error() const { return error_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  Bytes rest() const { return {at_, left()}; }
  Arena& arena() { return *arena_; }
  void fail(DecodeError error);

  bool read_bool() { return fixed<uint8_t>() != 0; }
  int8_t read_i8() { return fixed<int8_t>(); }
  int16_t read_i16() { return fixed<int16_t>(); }
  uint16_t read_u16() { return fixed<uint16_t>(); }
  int32_t read_i32() { return fixed<int32_t>(); }
  uint32_t read_u32() { return fixed<uint32_t>(); }
  int64_t read_i64() { return fixed<int64_t>(); }
  double read_f64() { return std::bit_cast<double>(fixed<uint64_t>()); }
  Uuid read_uuid();

  uint32_t read_uvarint();
  int32_t read_varint();
  int64_t read_varlong();
  Bytes read_raw(size_t size);

  std::string_view read_string(bool flexible);
  std::optional<std::string_view> read_nullable_string(bool flexible, bool nullable);
  Bytes read_bytes(bool flexible);
  std::optional<Bytes> read_nullable_bytes(bool flexible, bool nullable);
  Records read_records(bool flexible, bool nullable);
  // Marker of a nullable struct: negative is null.
  bool read_present() { return read_i8() >= 0; }

  // The element count of an array, -1 for null. It is at most left() / min_element_bytes.
  int32_t read_count(bool flexible, bool nullable, size_t min_element_bytes);

  // n value-initialised elements in the arena; past its limit an error and no elements.
  template <class T>
  std::span<T> array(int32_t count) {
    if (count <= 0) return {};
    std::span<T> items = arena_->try_array<T>(static_cast<size_t>(count));
    if (items.empty()) fail(DecodeError::kTooLarge);
    return items;
  }
  template <class T>
  T* make() {
    T* one = arena_->try_make<T>();
    if (one == nullptr) fail(DecodeError::kTooLarge);
    return one;
  }

  // Passes over a tagged field section of which nothing is known.
  void skip_tagged_fields();

 private:
  friend class TagReader;

  template <class T>
  T fixed() {
    if (left() < sizeof(T)) [[unlikely]] {
      fail(DecodeError::kTruncated);
      return 0;
    }
    T value = load_be<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  int64_t read_length(bool flexible, bool short_prefix);

  const uint8_t* at_;
  const uint8_t* end_;
  Arena* arena_;
  DecodeError error_ = DecodeError::kNone;
};

// Walks one tagged field section. While a field is current the reader ends at that field's end.
//   TagReader tags(in);
//   while (tags.next()) switch (tags.tag()) { case 0: ...read it...; break; default: tags.skip(); }
class TagReader {
 public:
  explicit TagReader(WireReader& in) : in_(in), section_end_(in.end_), left_(in.read_uvarint()) {}
  bool next();
  uint32_t tag() const { return static_cast<uint32_t>(tag_); }
  void skip() { in_.at_ = in_.end_; }

 private:
  void leave();

  WireReader& in_;
  const uint8_t* section_end_;
  uint32_t left_;
  int64_t tag_ = -1;
};

class WireWriter {
 public:
  // An external range of bytes belongs at `at` of the written bytes.
  struct Hole {
    uint32_t at;
    uint32_t size;
    uint32_t token;
  };

  explicit WireWriter(MutableBytes out) : first_(out.data()), size_(out.size()) {}
  WireWriter(const WireWriter&) = delete;
  WireWriter& operator=(const WireWriter&) = delete;

  size_t written() const { return at_; }
  std::span<const Hole> holes() const {
    if (more_holes_.empty()) return {few_holes_, hole_count_};
    return more_holes_;
  }

  void write_bool(bool value) { fixed<uint8_t>(value ? 1 : 0); }
  void write_i8(int8_t value) { fixed(value); }
  void write_i16(int16_t value) { fixed(value); }
  void write_u16(uint16_t value) { fixed(value); }
  void write_i32(int32_t value) { fixed(value); }
  void write_u32(uint32_t value) { fixed(value); }
  void write_i64(int64_t value) { fixed(value); }
  void write_f64(double value) { fixed(std::bit_cast<uint64_t>(value)); }
  void write_uuid(const Uuid& id) { write_raw(id.bytes); }

  void write_uvarint(uint32_t value);
  void write_varint(int32_t value);
  void write_varlong(int64_t value);
  void write_raw(Bytes bytes);

  // Null where null is not allowed is written as empty.
  void write_string(bool flexible, std::string_view text);
  void write_nullable_string(bool flexible, bool nullable, const std::optional<std::string_view>& text);
  void write_bytes(bool flexible, Bytes bytes);
  void write_nullable_bytes(bool flexible, bool nullable, const std::optional<Bytes>& bytes);
  void write_records(bool flexible, bool nullable, const Records& records);
  void write_present(bool present) { write_i8(present ? 1 : -1); }
  void write_count(bool flexible, size_t count);
  void write_null_array(bool flexible, bool nullable);

 private:
  template <class T>
  void fixed(T value) {
    store_be(room(sizeof(T)), value);
  }
  uint8_t* room(size_t bytes) {
    CHECK(bytes <= size_ - at_, "the message is longer than its announced size");
    uint8_t* place = first_ + at_;
    at_ += bytes;
    return place;
  }
  void add_hole(Hole hole);

  static constexpr size_t kFewHoles = 16;

  uint8_t* first_;
  size_t size_;
  size_t at_ = 0;
  size_t hole_count_ = 0;
  Hole few_holes_[kFewHoles];
  std::vector<Hole> more_holes_;  // all of them, once they are more than few
};

// Sizes of what the writer writes.
inline size_t uvarint_size(uint32_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
size_t varint_size(int32_t value);
size_t varlong_size(int64_t value);
size_t string_size(bool flexible, std::string_view text);
size_t string_size(bool flexible, const std::optional<std::string_view>& text);
size_t bytes_size(bool flexible, Bytes bytes);
size_t bytes_size(bool flexible, const std::optional<Bytes>& bytes);
size_t records_size(bool flexible, const Records& records);
inline size_t count_size(bool flexible, size_t count) {
  return flexible ? uvarint_size(static_cast<uint32_t>(count) + 1) : sizeof(int32_t);
}

}  // namespace pelton::proto
