// What a shard or a helper does for one batch of a client: the checks of its records, through the codecs, and
// what the worst batch of each codec costs.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "broker/produce/prepare.h"
#include "proto/batch_builder.h"

namespace pelton::broker {
namespace {

using proto::Codec;

constexpr int64_t kNow = 1'800'000'000'000;

// `count` records of words, as compressible as text (to a third or so).
std::vector<uint8_t> make_batch(Codec codec, int32_t count, size_t value_size) {
  static constexpr const char* kWords[] = {"order", "id", "user", "price", "true", "2026", "null", "{", "}", ","};
  std::mt19937 random(1);
  proto::BatchBuilder builder({.codec = codec});
  for (int32_t i = 0; i < count; ++i) {
    std::string value;
    while (value.size() < value_size) value += kWords[random() % std::size(kWords)] + std::to_string(random() % 100);
    value.resize(value_size);
    builder.append(kNow + i / 8, std::nullopt, as_bytes(value));
  }
  std::vector<uint8_t> out;
  (void)builder.build(out);
  return out;
}

void prepare_batch(benchmark::State& state) {
  auto codec = static_cast<Codec>(state.range(0));
  auto count = static_cast<int32_t>(state.range(1));
  auto batch = make_batch(codec, count, static_cast<size_t>(state.range(2)));
  BatchRules rules = BatchRules::of({}, kNow);
  proto::CodecContexts contexts;
  for (auto _ : state) {
    PreparedBatch prepared = prepare(batch, rules, {.max_output = output_limit(batch.size())}, &contexts);
    benchmark::DoNotOptimize(prepared.error);
  }
  auto records = static_cast<double>(state.iterations()) * count;
  state.counters["record"] = benchmark::Counter(
      records, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(to_string(codec)) + " " + std::to_string(batch.size()) + " B");
}
BENCHMARK(prepare_batch)->ArgsProduct({{0, 1, 2, 3, 4}, {1, 100, 1000}, {100}});

// From plain to a codec, at Kafka's default levels.
void rebuild_batch(benchmark::State& state) {
  auto batch = make_batch(Codec::kNone, static_cast<int32_t>(state.range(1)), 100);
  BatchRules rules = BatchRules::of({.compression = static_cast<Codec>(state.range(0))}, kNow);
  proto::CodecContexts contexts;
  for (auto _ : state) {
    PreparedBatch prepared = prepare(batch, rules, {.max_output = output_limit(batch.size())}, &contexts);
    benchmark::DoNotOptimize(prepared.batch.data());
  }
  state.SetLabel(std::string(to_string(static_cast<Codec>(state.range(0)))));
}
BENCHMARK(rebuild_batch)->ArgsProduct({{1, 2, 3, 4}, {30, 1000}});

// One record of zeros, more than is taken, in a batch of at most message.max.bytes.
void refuse_bomb(benchmark::State& state) {
  auto codec = static_cast<Codec>(state.range(0));
  std::vector<uint8_t> record, zeros(4 * kLeastOutput, 0);
  proto::append_record({.offset_delta = 0, .key = std::nullopt, .value = Bytes(zeros), .headers = {}}, record);
  std::vector<uint8_t> batch = make_batch(Codec::kNone, 1, 10);
  batch.resize(proto::kBatchHeaderSize);
  proto::CompressStream out(codec, {.gzip = 9, .lz4 = 12, .zstd = 19}, batch, SIZE_MAX);
  (void)out.write(record);
  (void)out.finish();
  proto::complete_rebuilt(batch, codec, kNow, kNow);
  BatchRules rules = BatchRules::of({}, kNow);
  proto::CodecContexts contexts;
  for (auto _ : state) {
    PreparedBatch prepared = prepare(batch, rules, {.max_output = output_limit(batch.size())}, &contexts);
    benchmark::DoNotOptimize(prepared.error);
  }
  state.SetLabel(std::string(to_string(codec)) + " " + std::to_string(batch.size()) + " B");
}
BENCHMARK(refuse_bomb)->Arg(1)->Arg(2)->Arg(3)->Arg(4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pelton::broker
