// Batches, records and decompressors. The first byte chooses what the rest is:
//   0 a range of batches; 1-4 a compressed stream of that codec (the second byte scales the limit);
//   5 uncompressed records (the second byte is their count); 6 records to build a batch of.
#include <algorithm>
#include <optional>
#include <vector>

#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/record_scan.h"
#include "proto/record_walk.h"
#include "reactor/base/check.h"

namespace pelton::proto {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr size_t kSmallOutput = 64 * 1024;
constexpr uint8_t kWays = 7;

// The readers of records must agree on what is sound, and on what they read.
void check_records_agree(Bytes plain, Codec codec, Bytes stored, int32_t count) {
  RecordIterator records(plain, count);
  RecordWalk walk(plain, count);
  RecordScanner scanner(codec, stored, count, kSmallOutput);
  RecordView record;
  ScannedRecord scanned, walked;
  while (records.next(record)) {
    CHECK(scanner.next(scanned));
    CHECK(walk.next(walked) && walked == scanned);
    CHECK(scanned.timestamp_delta == record.timestamp_delta);
    CHECK(scanned.offset_delta == record.offset_delta);
    CHECK(scanned.value_size == (record.value ? static_cast<int32_t>(record.value->size()) : -1));
    RecordHeaderIterator headers = record.headers();
    RecordHeader header;
    while (headers.next(header)) CHECK(header.key.size() <= plain.size());
  }
  while (scanner.next(scanned)) {
  }
  CHECK(!walk.next(walked) && walk.status() == records.status());
  CHECK(records.status().has_value() == scanner.status().has_value());
}

void check_patches(Bytes bytes) {
  Buffer batch(bytes.begin(), bytes.end());
  set_base_offset(batch, 0);
  set_partition_leader_epoch(batch, 3);
  set_max_timestamp_and_log_append_time(batch, 9);
  BatchView view(batch);
  CHECK(view.crc() == view.computed_crc());
  CHECK(view.log_append_time() && view.timestamp_at(1) == 9);
}

void walk_batch(const BatchView& batch) {
  for (BatchOrigin origin : {BatchOrigin::kClient, BatchOrigin::kLog}) {
    (void)validate(batch.bytes(), {.origin = origin});
    auto sound = validate(batch.bytes(), {.origin = origin, .check_crc = false});
    if (!sound) continue;
    (void)check_records(*sound, origin, kSmallOutput);
    (void)sound->last_sequence();
    Buffer plain;
    if (decompress(sound->codec(), sound->records_bytes(), kSmallOutput, plain))
      check_records_agree(plain, sound->codec(), sound->records_bytes(), sound->count());
  }
  check_patches(batch.bytes());
}

void walk_range(Bytes range) {
  BatchIterator batches(range);
  size_t before = 0;
  while (auto batch = batches.next()) {
    CHECK(batches.position() == before + batch->size());
    before = batches.position();
    walk_batch(*batch);
  }
  CHECK(batches.position() == before && before <= range.size());
}

// Whole and in small pieces must give the same bytes and the same end.
void check_decompress(Codec codec, Bytes compressed, size_t limit) {
  Buffer whole;
  auto result = decompress(codec, compressed, limit, whole);
  CHECK(whole.size() <= limit && whole.capacity() <= limit);
  DecompressStream stream(codec, compressed, limit);
  Buffer pieces;
  uint8_t piece[61];
  auto read = stream.read(piece);
  for (; read && *read > 0; read = stream.read(piece)) pieces.insert(pieces.end(), piece, piece + *read);
  CHECK(pieces.size() <= limit);
  CHECK(read.has_value() == result.has_value());
  if (result) CHECK(pieces == whole);
}

Bytes take(Bytes& from, size_t size) {
  Bytes taken = from.first(std::min(size, from.size()));
  from = from.subspan(taken.size());
  return taken;
}

void build(Bytes input) {
  if (input.empty()) return;
  auto codec = static_cast<Codec>(input[0] % kCodecCount);
  input = input.subspan(1);
  BatchBuilder builder({.codec = codec});
  std::optional<Bytes> key;
  do {
    Bytes value = take(input, input.empty() ? 0 : input[0]);
    RecordHeader header{value.first(value.size() / 2), key};
    builder.append(static_cast<int64_t>(value.size()) * 1000, key, value, {&header, 1});
    key = value;
    take(input, 1);
  } while (!input.empty());
  Buffer out;
  CHECK(builder.build(out));
  auto batch = validate(out);
  CHECK(batch && batch->count() == builder.count());
  CHECK(check_records(*batch, BatchOrigin::kClient, 1 << 20));
}

void run(Bytes input) {
  if (input.size() < 2) return;
  uint8_t way = input[0] % kWays;
  switch (way) {
    case 0: return walk_range(input.subspan(1));
    case 5:
      return check_records_agree(input.subspan(2), Codec::kNone, input.subspan(2),
                                 static_cast<int8_t>(input[1]));
    case 6: return build(input.subspan(1));
    default: return check_decompress(static_cast<Codec>(way), input.subspan(2), input[1] * size_t{100});
  }
}

}  // namespace
}  // namespace pelton::proto

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pelton::proto::run({data, size});
  return 0;
}
