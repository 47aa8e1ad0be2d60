// What checking a batch costs: its CRC, and the walk over its records.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "proto/batch.h"
#include "proto/batch_builder.h"
#include "proto/record_walk.h"

namespace pelton::proto {
namespace {

// `count` records of value_size bytes, with a key of eight bytes and one header where asked.
std::vector<uint8_t> make_batch(int32_t count, size_t value_size, bool rich) {
  BatchBuilder builder;
  std::string value(value_size, 'v');
  RecordHeader header{as_bytes("trace"), as_bytes("0123456789abcdef")};
  std::optional<Bytes> key;
  if (rich) key = as_bytes("key-1234");
  for (int32_t i = 0; i < count; ++i)
    builder.append(1'700'000'000'000 + i / 4, key, as_bytes(value),
                   rich ? std::span(&header, 1) : std::span<const RecordHeader>());
  std::vector<uint8_t> out;
  (void)builder.build(out);
  return out;
}

void report(benchmark::State& state, size_t batch_size) {
  auto records = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["record"] = benchmark::Counter(
      records, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(batch_size));
}

void batch_crc(benchmark::State& state) {
  auto bytes = make_batch(static_cast<int32_t>(state.range(0)), static_cast<size_t>(state.range(1)),
                          state.range(2) != 0);
  BatchView batch(bytes);
  for (auto _ : state) benchmark::DoNotOptimize(batch.computed_crc());
  report(state, bytes.size());
}

void record_walk(benchmark::State& state) {
  auto bytes = make_batch(static_cast<int32_t>(state.range(0)), static_cast<size_t>(state.range(1)),
                          state.range(2) != 0);
  BatchView batch(bytes);
  for (auto _ : state) {
    RecordWalk records(batch.records_bytes(), batch.count());
    ScannedRecord record;
    int64_t largest = 0;
    while (records.next(record)) largest = std::max(largest, record.timestamp_delta);
    benchmark::DoNotOptimize(largest);
  }
  report(state, bytes.size());
}

// Records in a batch, bytes of a value, whether there are a key and a header.
void shapes(benchmark::internal::Benchmark* bench) {
  bench->Args({1, 100, 0})->Args({100, 100, 0})->Args({1000, 10, 0})->Args({1000, 100, 1})->Args({100, 10'000, 0});
}
BENCHMARK(batch_crc)->Apply(shapes);
BENCHMARK(record_walk)->Apply(shapes);

}  // namespace
}  // namespace pelton::proto
