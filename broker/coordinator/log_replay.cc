#include "broker/coordinator/log_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/compression.h"

namespace pelton::broker::coordinator {
namespace {

// Far more than the largest batch these topics take; a bound for damaged or hostile files.
constexpr size_t kMaxPlainBytes = size_t{256} << 20;

}  // namespace

LogReplay::Step LogReplay::step(size_t& budget) {
  if (next_ >= log_.next_offset()) return Step::kEnd;
  budget_ = budget;
  int64_t before = next_;
  Status read = log_.read(next_, *this);
  budget = budget_;
  if (!failure_.empty()) return Step::kFailed;
  if (!read) {
    fail(fmt::format("reading at offset {}: {}", next_, to_string(read.error())));
    return Step::kFailed;
  }
  // Offsets at the end may have no batch (compaction): nothing read means nothing is left.
  return next_ == before || next_ >= log_.next_offset() ? Step::kEnd : Step::kMore;
}

bool LogReplay::visit(Bytes batch) {
  if (!replay_batch(batch)) return false;
  budget_ -= std::min(budget_, batch.size());
  return budget_ > 0;
}

bool LogReplay::replay_batch(Bytes bytes) {
  auto batch = proto::validate(bytes, {.origin = proto::BatchOrigin::kLog});
  if (!batch) {
    return fail(fmt::format("batch at offset {}: {}", next_, proto::to_string(batch.error())));
  }
  if (batch->control()) {
    if (!replay_control(*batch)) return false;
    next_ = std::max(next_, batch->next_offset());
    return true;
  }
  Bytes records = batch->records_bytes();
  if (batch->codec() != proto::Codec::kNone) {
    plain_.clear();
    auto plain = proto::decompress(batch->codec(), records, kMaxPlainBytes, plain_);
    if (!plain) {
      return fail(fmt::format("batch at offset {}: {}", next_, proto::to_string(plain.error())));
    }
    records = plain_;
  }
  proto::RecordIterator iterator(records, batch->count());
  proto::RecordView record;
  while (iterator.next(record)) {
    int64_t offset = batch->offset_of(record);
    if (offset < next_) continue;
    if (!record.key) return fail(fmt::format("the record at offset {} has no key", offset));
    ReplayedRecord replayed{.offset = offset, .key = *record.key, .value = record.value};
    if (batch->transactional()) replayed.producer_id = batch->producer_id();
    if (!machine_.replay(replayed)) {
      return fail(fmt::format("the record at offset {} cannot be read", offset));
    }
  }
  if (auto status = iterator.status(); !status) {
    return fail(fmt::format("batch at offset {}: {}", next_, proto::to_string(status.error())));
  }
  next_ = std::max(next_, batch->next_offset());
  return true;
}

bool LogReplay::replay_control(const proto::BatchView& batch) {
  if (batch.codec() != proto::Codec::kNone) return fail("a compressed control batch");
  proto::RecordIterator iterator = batch.records();
  proto::RecordView record;
  while (iterator.next(record)) {
    auto type = record.key ? proto::control_type(*record.key) : std::nullopt;
    if (!type) return fail(fmt::format("the control record at offset {} has no type", next_));
    bool commit = *type == static_cast<int16_t>(proto::ControlType::kCommit);
    bool abort = *type == static_cast<int16_t>(proto::ControlType::kAbort);
    if (commit || abort) machine_.replay_transaction_end(batch.producer_id(), commit);
  }
  if (!iterator.status())
    return fail(fmt::format("the control batch at offset {} is damaged", next_));
  return true;
}

bool LogReplay::fail(std::string why) {
  failure_ = std::move(why);
  return false;
}

}  // namespace pelton::broker::coordinator
