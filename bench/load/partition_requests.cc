#include "bench/load/partition_requests.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "proto/batch.h"
#include "proto/batch_builder.h"

namespace pelton::bench {
namespace {

constexpr int32_t kReplyLimit = 50 << 20;  // a consumer's default

[[noreturn]] void refused(std::string_view api, int16_t code) {
  errno = 0;
  fail(fmt::format("{}: error code {}", api, code));
}

}  // namespace

std::vector<uint8_t> make_batch(int32_t records, size_t value_bytes) {
  std::vector<uint8_t> value(value_bytes);
  for (size_t i = 0; i < value_bytes; ++i) value[i] = static_cast<uint8_t>('a' + i * 7 % 26);
  auto now = std::chrono::system_clock::now().time_since_epoch();
  int64_t timestamp = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  proto::BatchBuilder builder;
  for (int32_t i = 0; i < records; ++i) builder.append(timestamp, std::nullopt, Bytes(value));
  std::vector<uint8_t> batch;
  errno = 0;
  if (!builder.build(batch)) fail("building a batch");
  return batch;
}

std::vector<uint8_t> produce_frame(const KafkaClient& client, const Topic& topic, int32_t partition,
                                   int16_t acks, Bytes batch) {
  proto::ProduceRequest::PartitionProduceData data;
  data.index = partition;
  data.records = proto::Records::of(batch);
  proto::ProduceRequest::TopicProduceData of_topic;
  of_topic.name = topic.name;
  of_topic.topic_id = topic.id;
  of_topic.partition_data = {&data, 1};
  proto::ProduceRequest request;
  request.acks = acks;
  request.timeout_ms = 30000;
  request.topic_data = {&of_topic, 1};
  return client.encode(request);
}

int64_t produced_at(const proto::ProduceResponse& response) {
  if (response.responses.size() != 1 || response.responses[0].partition_responses.size() != 1)
    refused("Produce", -1);
  const auto& partition = response.responses[0].partition_responses[0];
  if (partition.error_code != 0) refused("Produce", partition.error_code);
  return partition.base_offset;
}

void send_fetch(KafkaClient& client, const Topic& topic, int32_t partition, int64_t offset,
                FetchLimits limits) {
  proto::FetchRequest::FetchPartition wanted;
  wanted.partition = partition;
  wanted.fetch_offset = offset;
  wanted.partition_max_bytes = limits.max_bytes;
  proto::FetchRequest::FetchTopic of_topic;
  of_topic.topic = topic.name;
  of_topic.topic_id = topic.id;
  of_topic.partitions = {&wanted, 1};
  proto::FetchRequest request;
  request.max_wait_ms = limits.max_wait_ms;
  request.min_bytes = limits.min_bytes;
  request.max_bytes = std::max(kReplyLimit, limits.max_bytes);
  request.topics = {&of_topic, 1};
  client.send(request);
}

Bytes fetched_records(const proto::FetchResponse& response) {
  if (response.error_code != 0) refused("Fetch", response.error_code);
  if (response.responses.empty()) return {};
  if (response.responses.size() != 1 || response.responses[0].partitions.size() != 1)
    refused("Fetch", -1);
  const auto& partition = response.responses[0].partitions[0];
  if (partition.error_code != 0) refused("Fetch", partition.error_code);
  return partition.records.bytes;
}

int64_t offset_after(Bytes records, int64_t otherwise) {
  while (records.size() >= proto::kBatchHeaderSize) {
    proto::BatchView batch(records);
    if (batch.size() < proto::kBatchHeaderSize || batch.size() > records.size()) break;
    otherwise = batch.next_offset();
    records = records.subspan(batch.size());
  }
  return otherwise;
}

}  // namespace pelton::bench
