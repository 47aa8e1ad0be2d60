#include "tests/sim/client/records.h"

#include <fmt/format.h>

namespace pelton::sim {
namespace {

constexpr size_t kHead = 16;
constexpr size_t kLargestBatch = 1 << 20;

uint8_t filler_byte(const RecordId& id, size_t index) {
  return static_cast<uint8_t>(id.producer * 31 + id.partition * 7 + id.number + index * index);
}

}  // namespace

proto::Codec any_codec(World& world) {
  return world.chance(0.4) ? proto::Codec::kNone : static_cast<proto::Codec>(world.below(proto::kCodecCount));
}

std::vector<uint8_t> record_value(const RecordId& id, size_t filler) {
  std::vector<uint8_t> value(kHead + filler);
  store_be<uint32_t>(value.data(), id.producer);
  store_be<uint32_t>(value.data() + 4, id.partition);
  store_be<uint64_t>(value.data() + 8, id.number);
  for (size_t i = 0; i < filler; ++i) value[kHead + i] = filler_byte(id, i);
  return value;
}

std::optional<RecordId> read_record_value(Bytes value) {
  if (value.size() < kHead) return std::nullopt;
  RecordId id;
  id.producer = load_be<uint32_t>(value.data());
  id.partition = load_be<uint32_t>(value.data() + 4);
  id.number = load_be<uint64_t>(value.data() + 8);
  for (size_t i = kHead; i < value.size(); ++i)
    if (value[i] != filler_byte(id, i - kHead)) return std::nullopt;
  return id;
}

Result<std::vector<FetchedBatch>, std::string> read_batches(Bytes bytes) {
  std::vector<FetchedBatch> batches;
  proto::BatchIterator walk(bytes);
  while (auto view = walk.next()) {
    auto wrong = [&](std::string_view what) {
      return std::unexpected(fmt::format("{} in the batch of {} bytes at byte {} of {}, base offset {}", what,
                                         view->size(), walk.position() - view->size(), bytes.size(),
                                         view->base_offset()));
    };
    auto batch = proto::validate(view->bytes().first(view->size()), {.origin = proto::BatchOrigin::kLog});
    if (!batch) return wrong(to_string(batch.error()));
    FetchedBatch& fetched = batches.emplace_back();
    fetched.base_offset = batch->base_offset();
    fetched.next_offset = batch->next_offset();
    std::vector<uint8_t> plain;
    if (!proto::decompress(batch->codec(), batch->records_bytes(), kLargestBatch, plain))
      return wrong("records that cannot be decompressed");
    proto::RecordIterator records(plain, batch->count());
    proto::RecordView record;
    while (records.next(record)) {
      auto id = record.value ? read_record_value(*record.value) : std::nullopt;
      if (!id) return wrong("a value that nobody sent");
      fetched.records.push_back(*id);
    }
    if (!records.status()) return wrong(to_string(records.status().error()));
    if (fetched.next_offset - fetched.base_offset != static_cast<int64_t>(fetched.records.size()))
      return wrong("fewer records than offsets");
  }
  if (walk.error())
    return std::unexpected(fmt::format("{} at byte {} of {}", to_string(*walk.error()), walk.position(),
                                       bytes.size()));
  return batches;
}

}  // namespace pelton::sim
