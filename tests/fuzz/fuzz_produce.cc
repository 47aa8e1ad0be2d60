// A client's batch on its way into the log: whatever is taken must be sound, by the rules of readers, and no
// larger than the topic allows. The first byte chooses the topic's rules; the rest is the batch, whose
// length and CRC are made right, so that what lies behind them is reached.
#include <optional>
#include <vector>

#include "broker/produce/prepare.h"
#include "proto/batch.h"
#include "reactor/base/check.h"

namespace pelton::broker {
namespace {

using Buffer = std::vector<uint8_t>;
constexpr int64_t kNow = 1'800'000'000'000;
constexpr size_t kSmallOutput = 256 * 1024;

storage::LogConfig drawn_config(uint8_t choice) {
  storage::LogConfig config;
  constexpr size_t kTypes = proto::kCodecCount + 1;
  size_t type = choice % kTypes;
  if (type < proto::kCodecCount) config.compression = static_cast<proto::Codec>(type);
  choice = static_cast<uint8_t>(choice / kTypes);
  config.compact_policy = (choice & 1) != 0;
  config.log_append_time = (choice & 2) != 0;
  config.timestamp_before_max_ms = (choice & 4) != 0 ? 1'000'000 : INT64_MAX;
  config.timestamp_after_max_ms = (choice & 8) != 0 ? INT64_MAX : 1'000'000;
  config.max_message_bytes = (choice & 16) != 0 ? 300 : 100'000;
  return config;
}

void seal(MutableBytes batch) {
  store_be<int64_t>(batch.data(), 0);
  store_be<int32_t>(batch.data() + 8, static_cast<int32_t>(batch.size() - proto::kBatchLengthEnd));
  store_be<int8_t>(batch.data() + 16, proto::kBatchMagic);
  store_be<uint32_t>(batch.data() + 17, proto::BatchView(batch).computed_crc());
}

// Prepared as on a shard and then, where that was not enough, as on a helper.
PreparedBatch prepare_as_broker(MutableBytes batch, const BatchRules& rules, proto::CodecContexts& contexts) {
  PreparedBatch first = prepare(batch, rules, {.max_output = 4096, .may_rebuild = false, .final = false}, &contexts);
  if (!first.needs_more) return first;
  return prepare(batch, rules, {.max_output = kSmallOutput}, &contexts);
}

void run(Bytes input) {
  if (input.size() < 1 + proto::kBatchHeaderSize) return;
  static proto::CodecContexts contexts;
  storage::LogConfig config = drawn_config(input[0]);
  Buffer batch(input.begin() + 1, input.end());
  seal(batch);
  auto view = proto::validate(batch);
  if (!view) return;
  int32_t count = view->count();
  bool marked = view->log_append_time();
  BatchRules rules = BatchRules::of(config, kNow);
  PreparedBatch prepared = prepare_as_broker(batch, rules, contexts);
  if (prepared.error != proto::ErrorCode::kNone) {
    CHECK(!prepared.why.empty() && prepared.errors.size() <= kMostRecordErrors);
    for (const RecordError& error : prepared.errors) CHECK(!describe(error, rules.records).empty());
    return;
  }
  auto taken = proto::validate(prepared.batch);
  CHECK(taken && taken->count() == count);
  CHECK(taken->codec() == config.compression.value_or(taken->codec()));
  CHECK(prepared.rebuilt.empty() || taken->size() <= static_cast<size_t>(config.max_message_bytes));
  CHECK(proto::check_records(*taken, proto::BatchOrigin::kClient, kSmallOutput));
  // What was taken is right as it is. (A time type that the client had no right to set hid the records' own
  // times, as in Apache Kafka.)
  if (marked) return;
  Buffer again(prepared.batch.begin(), prepared.batch.end());
  PreparedBatch second = prepare_as_broker(again, rules, contexts);
  CHECK(second.error == proto::ErrorCode::kNone && second.rebuilt.empty());
  CHECK(std::equal(again.begin(), again.end(), prepared.batch.begin(), prepared.batch.end()));
}

}  // namespace
}  // namespace pelton::broker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pelton::broker::run({data, size});
  return 0;
}
