#include "storage/producer_snapshot.h"

#include "proto/crc32c.h"

namespace pelton::storage {
namespace {

constexpr int16_t kVersion = 1;
constexpr size_t kHeaderSize = 2 + 4;  // version, CRC
constexpr size_t kCountSize = 4;
constexpr size_t kEntrySize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;

void encode_entry(int64_t id, const ProducerEntry& entry, uint8_t* to) {
  ProducerBatch last;
  if (!entry.empty()) last = entry.last();
  store_be<int64_t>(to, id);
  store_be<int16_t>(to + 8, entry.epoch);
  store_be<int32_t>(to + 10, last.last_sequence);
  store_be<int64_t>(to + 14, last.last_offset);
  store_be<int32_t>(to + 22, last.offset_delta);
  store_be<int64_t>(to + 26, entry.last_timestamp);
  store_be<int32_t>(to + 34, entry.coordinator_epoch);
  store_be<int64_t>(to + 38, entry.transaction_first_offset);
}

// An entry without batches has no last offset (its producer was fenced by a marker).
ProducerEntry decode_entry(const uint8_t* from) {
  ProducerEntry entry;
  entry.epoch = load_be<int16_t>(from + 8);
  ProducerBatch last{load_be<int32_t>(from + 10), load_be<int64_t>(from + 14),
                     load_be<int32_t>(from + 22), load_be<int64_t>(from + 26)};
  if (last.last_offset >= 0) entry.add(last);
  entry.last_timestamp = last.timestamp;
  entry.coordinator_epoch = load_be<int32_t>(from + 34);
  entry.transaction_first_offset = load_be<int64_t>(from + 38);
  return entry;
}

}  // namespace

std::vector<uint8_t> encode_producer_snapshot(const ProducerState& state) {
  std::vector<uint8_t> bytes(kHeaderSize + kCountSize + state.size() * kEntrySize);
  store_be<int16_t>(bytes.data(), kVersion);
  store_be<int32_t>(bytes.data() + kHeaderSize, static_cast<int32_t>(state.size()));
  uint8_t* to = bytes.data() + kHeaderSize + kCountSize;
  for (const auto& [id, entry] : state.sorted()) {
    encode_entry(id, entry, to);
    to += kEntrySize;
  }
  store_be<uint32_t>(bytes.data() + 2, proto::crc32c(Bytes(bytes).subspan(kHeaderSize)));
  return bytes;
}

std::optional<ProducerState> decode_producer_snapshot(Bytes bytes) {
  if (bytes.size() < kHeaderSize + kCountSize) return std::nullopt;
  if (load_be<int16_t>(bytes.data()) != kVersion) return std::nullopt;
  Bytes checked = bytes.subspan(kHeaderSize);
  if (load_be<uint32_t>(bytes.data() + 2) != proto::crc32c(checked)) return std::nullopt;
  int32_t count = load_be<int32_t>(checked.data());
  Bytes entries = checked.subspan(kCountSize);
  if (count < 0 || entries.size() != static_cast<size_t>(count) * kEntrySize) return std::nullopt;
  ProducerState state;
  for (; !entries.empty(); entries = entries.subspan(kEntrySize)) {
    state.put(load_be<int64_t>(entries.data()), decode_entry(entries.data()));
  }
  return state;
}

}  // namespace pelton::storage
