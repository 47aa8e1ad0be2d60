// Produce and Fetch requests for partition 0 of one topic, and what is looked at in their answers.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/load/kafka_client.h"
#include "proto/messages/fetch.h"
#include "proto/messages/produce.h"

namespace pelton::bench {

// One batch of `records` records with values of `value_bytes` bytes.
std::vector<uint8_t> make_batch(int32_t records, size_t value_bytes);

// A Produce frame, made once and sent often.
std::vector<uint8_t> produce_frame(const KafkaClient& client, const Topic& topic, int32_t partition,
                                   int16_t acks, Bytes batch);
// Fails on an error code; the base offset.
int64_t produced_at(const proto::ProduceResponse& response);

struct FetchLimits {
  int32_t max_wait_ms = 500;
  int32_t min_bytes = 1;
  int32_t max_bytes = 1 << 20;  // of the partition
};
void send_fetch(KafkaClient& client, const Topic& topic, int32_t partition, int64_t offset,
                FetchLimits limits);
// Fails on an error code; the records, empty when the wait expired.
Bytes fetched_records(const proto::FetchResponse& response);
// The offset after the last whole batch; `otherwise` when there is none.
int64_t offset_after(Bytes records, int64_t otherwise);

}  // namespace pelton::bench
