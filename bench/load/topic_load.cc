// How long the broker takes to create and delete many topics, and to tell of many partitions. Prints one JSON
// object.
//
// usage: topic_load create --port n [--topics 1000]
//          makes them in one request and deletes them in one, then makes them one by one and deletes them again;
//          a creation ends when every topic has its leader
//        topic_load metadata --port n [--topics 100] [--partitions 100] [--requests 50]
//          makes topics with so many partitions each and asks for all of them, again and again, on a connection that
//          asked nothing else
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/load/kafka_client.h"
#include "bench/load/options.h"
#include "bench/load/percentiles.h"
#include "proto/messages/create_topics.h"
#include "proto/messages/delete_topics.h"
#include "proto/messages/metadata.h"

namespace pelton::bench {
namespace {

constexpr int32_t kTimeoutMs = 120'000;
constexpr int64_t kLimitNs = int64_t{kTimeoutMs} * 1'000'000;
constexpr int64_t kPause = 2000;  // us between two questions

using proto::CreateTopicsRequest;
using proto::DeleteTopicsRequest;
using proto::MetadataRequest;
using proto::MetadataResponse;

std::vector<std::string> names(const std::string& prefix, int64_t count) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(fmt::format("{}-{:05}", prefix, i));
  return all;
}

MetadataResponse all_topics(KafkaClient& client) {
  MetadataRequest request;
  request.topics = std::nullopt;
  return client.call<MetadataResponse>(request);
}

// Partitions with a leader of topics whose names begin so.
int64_t leaders(const MetadataResponse& response, std::string_view prefix) {
  int64_t found = 0;
  for (const auto& topic : response.topics) {
    if (!topic.name.value_or("").starts_with(prefix)) continue;
    found += std::ranges::count_if(topic.partitions, [](const auto& partition) {
      return partition.error_code == 0 && partition.leader_id.value >= 0;
    });
  }
  return found;
}

void wait_for_leaders(KafkaClient& client, std::string_view prefix, int64_t wanted) {
  int64_t end = monotonic_ns() + kLimitNs;
  for (; leaders(all_topics(client), prefix) != wanted; ::usleep(kPause)) {
    errno = 0;
    if (monotonic_ns() > end) fail(fmt::format("{}: not {} partitions with leaders", prefix, wanted));
  }
}

void create(KafkaClient& client, std::span<const std::string> topics, int32_t partitions) {
  std::vector<CreateTopicsRequest::CreatableTopic> entries(topics.size());
  for (size_t i = 0; i < topics.size(); ++i) {
    entries[i].name = topics[i];
    entries[i].num_partitions = partitions;
    entries[i].replication_factor = 1;
  }
  CreateTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics = entries;
  auto response = client.call<proto::CreateTopicsResponse>(request);
  errno = 0;
  for (const auto& topic : response.topics)
    if (topic.error_code != 0) fail(fmt::format("create {}: error {}", topic.name, topic.error_code));
}

void remove(KafkaClient& client, std::string_view prefix, const std::vector<std::string>& topics) {
  std::vector<DeleteTopicsRequest::DeleteTopicState> states(topics.size());
  for (size_t i = 0; i < topics.size(); ++i) states[i].name = topics[i];
  DeleteTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics = states;
  auto response = client.call<proto::DeleteTopicsResponse>(request);
  errno = 0;
  for (const auto& topic : response.responses)
    if (topic.error_code != 0) fail(fmt::format("delete: error {}", topic.error_code));
  wait_for_leaders(client, prefix, 0);
}

// Until the last byte of the answer is here: to decode it may take as long as to make it.
size_t ask(const Fd& socket, Bytes frame) {
  send_all(socket, frame);
  std::array<uint8_t, proto::kFrameSizeBytes> prefix;
  if (!receive_exact(socket, prefix)) fail("the broker closed the connection");
  std::vector<uint8_t> body(load_be<uint32_t>(prefix.data()));
  if (!receive_exact(socket, body)) fail("the broker closed the connection");
  return prefix.size() + body.size();
}

double ms_since(int64_t started) { return static_cast<double>(monotonic_ns() - started) / 1e6; }

void time_creation(uint16_t port, Options& options) {
  int64_t count = std::max<int64_t>(options.number("--topics", 1000), 1);
  options.done();
  KafkaClient client(port);
  std::vector<std::string> topics = names("at-once", count);
  int64_t started = monotonic_ns();
  create(client, topics, 1);
  double answered = ms_since(started);
  wait_for_leaders(client, "at-once", count);
  double at_once = ms_since(started);
  started = monotonic_ns();
  remove(client, "at-once", topics);
  double removed = ms_since(started);
  topics = names("one-by-one", count);
  started = monotonic_ns();
  for (const std::string& topic : topics) create(client, std::span(&topic, 1), 1);
  wait_for_leaders(client, "one-by-one", count);
  double one_by_one = ms_since(started);
  remove(client, "one-by-one", topics);
  fmt::print(R"({{"topics": {}, "answered_ms": {:.1f}, "at_once_ms": {:.1f}, "one_by_one_ms": {:.1f}, )"
             R"("removed_ms": {:.1f}}})"
             "\n",
             count, answered, at_once, one_by_one, removed);
}

void time_metadata(uint16_t port, Options& options) {
  int64_t count = std::max<int64_t>(options.number("--topics", 100), 1);
  auto partitions = static_cast<int32_t>(options.number("--partitions", 100));
  int64_t requests = std::max<int64_t>(options.number("--requests", 50), 1);
  options.done();
  KafkaClient client(port);
  std::vector<std::string> topics = names("metadata", count);
  int64_t started = monotonic_ns();
  // In one request they would be more records than Apache Kafka's controller takes.
  for (const std::string& topic : topics) create(client, std::span(&topic, 1), partitions);
  wait_for_leaders(client, "metadata", count * partitions);
  double created = ms_since(started);
  MetadataRequest request;
  request.topics = std::nullopt;
  std::vector<uint8_t> frame = client.encode(request);
  Fd socket = connect_loopback(port);
  Percentiles latency;
  size_t bytes = 0;
  for (int64_t i = 0; i < requests; ++i) {
    int64_t asked = monotonic_ns();
    bytes = ask(socket, frame);
    latency.add_ns(monotonic_ns() - asked);
  }
  remove(client, "metadata", topics);
  fmt::print(R"({{"partitions": {}, "created_ms": {:.1f}, "answer_bytes": {}, "metadata_us": {}}})"
             "\n",
             count * partitions, created, bytes, latency.json_us());
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  errno = 0;
  if (argc < 2) fail("usage: topic_load create|metadata --port n ...");
  std::string mode = argv[1];
  Options options(argc - 1, argv + 1);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  if (mode == "create")
    time_creation(port, options);
  else if (mode == "metadata")
    time_metadata(port, options);
  else
    fail("create or metadata wanted");
}
