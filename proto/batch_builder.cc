#include "proto/batch_builder.h"

#include <algorithm>
#include <array>

namespace pelton::proto {
namespace {

constexpr int16_t kControlKeyVersion = 0;
constexpr int16_t kEndMarkerVersion = 0;

int16_t attributes_of(const BatchOptions& options) {
  int attributes = static_cast<int>(options.codec);
  if (options.transactional) attributes |= kAttributeTransactional;
  if (options.control) attributes |= kAttributeControl;
  return static_cast<int16_t>(attributes);
}

// The format's deltas wrap: the reader adds them back the same way.
int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

void BatchBuilder::append(int64_t timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
                          std::span<const RecordHeader> headers) {
  append_at(last_offset_delta_ + 1, timestamp, key, value, headers);
}

void BatchBuilder::append_at(int32_t offset_delta, int64_t timestamp, std::optional<Bytes> key,
                             std::optional<Bytes> value, std::span<const RecordHeader> headers) {
  CHECK(offset_delta > last_offset_delta_, "offsets ascend");
  if (count_ == 0) base_timestamp_ = timestamp;
  max_timestamp_ = count_ == 0 ? timestamp : std::max(max_timestamp_, timestamp);
  append_record({.timestamp_delta = wrapping_difference(timestamp, base_timestamp_),
                 .offset_delta = offset_delta,
                 .key = key,
                 .value = value,
                 .headers = headers},
                records_);
  last_offset_delta_ = offset_delta;
  ++count_;
}

void BatchBuilder::append_control(int64_t timestamp, ControlType type, Bytes value) {
  CHECK(options_.control);
  std::array<uint8_t, 4> key;
  store_be<int16_t>(key.data(), kControlKeyVersion);
  store_be<int16_t>(key.data() + 2, static_cast<int16_t>(type));
  append(timestamp, Bytes(key), value);
}

Result<void, CompressionError> BatchBuilder::build(std::vector<uint8_t>& out) const {
  CHECK(count_ > 0, "a batch has a record");
  size_t start = out.size();
  out.resize(start + kBatchHeaderSize);
  if (auto done = compress(options_.codec, records_, out); !done) {
    out.resize(start);
    return done;
  }
  write_header(MutableBytes(out).subspan(start));
  return {};
}

void BatchBuilder::write_header(MutableBytes batch) const {
  CHECK(batch.size() - kBatchLengthEnd <= INT32_MAX, "a batch fits the format");
  uint8_t* to = batch.data();
  store_be<int64_t>(to, options_.base_offset);
  store_be<int32_t>(to + 8, static_cast<int32_t>(batch.size() - kBatchLengthEnd));
  store_be<int32_t>(to + 12, options_.partition_leader_epoch);
  store_be<int8_t>(to + 16, kBatchMagic);
  store_be<int16_t>(to + 21, attributes_of(options_));
  store_be<int32_t>(to + 23, last_offset_delta_);
  store_be<int64_t>(to + 27, base_timestamp_);
  store_be<int64_t>(to + 35, max_timestamp_);
  store_be<int64_t>(to + 43, options_.producer_id);
  store_be<int16_t>(to + 51, options_.producer_epoch);
  store_be<int32_t>(to + 53, options_.base_sequence);
  store_be<int32_t>(to + 57, count_);
  store_be<uint32_t>(to + 17, BatchView(batch).computed_crc());
}

void build_end_transaction_marker(BatchOptions options, int64_t timestamp, ControlType type,
                                  int32_t coordinator_epoch, std::vector<uint8_t>& out) {
  CHECK(type == ControlType::kAbort || type == ControlType::kCommit);
  options.codec = Codec::kNone;
  options.base_sequence = kNoSequence;
  options.transactional = true;
  options.control = true;
  std::array<uint8_t, 6> value;
  store_be<int16_t>(value.data(), kEndMarkerVersion);
  store_be<int32_t>(value.data() + 2, coordinator_epoch);
  BatchBuilder builder(options);
  builder.append_control(timestamp, type, value);
  CHECK(builder.build(out), "copying cannot fail");
}

std::optional<int16_t> control_type(Bytes key) {
  if (key.size() < 4 || load_be<int16_t>(key.data()) < kControlKeyVersion) return std::nullopt;
  return load_be<int16_t>(key.data() + 2);
}

}  // namespace pelton::proto
