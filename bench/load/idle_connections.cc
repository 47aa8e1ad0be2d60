// What a connection that says nothing costs the broker in memory: opens them, each asks ApiVersions and Metadata
// as a client does that then has nothing to do, and looks at the broker's resident memory at a tenth of them and
// at all. Then asks every tenth connection again: the broker still knows them. Prints one JSON object.
//
// usage: idle_connections --port n --pid broker [--connections 10000] [--settle-ms 500]
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench/load/kafka_client.h"
#include "bench/load/options.h"
#include "proto/messages/api_versions.h"
#include "proto/messages/metadata.h"

namespace pelton::bench {
namespace {

void ask(const Fd& socket, Bytes frame, std::vector<uint8_t>& scratch) {
  send_all(socket, frame);
  std::array<uint8_t, proto::kFrameSizeBytes> prefix;
  if (!receive_exact(socket, prefix)) fail("the broker closed the connection");
  receive_and_drop(socket, load_be<uint32_t>(prefix.data()), scratch);
}

}  // namespace
}  // namespace pelton::bench

int main(int argc, char** argv) {
  using namespace pelton::bench;
  Options options(argc, argv);
  uint16_t port = static_cast<uint16_t>(options.number("--port", 9092));
  int64_t pid = options.number("--pid", 0);
  size_t connections = static_cast<size_t>(std::max<int64_t>(options.number("--connections", 10'000), 10));
  auto settle = static_cast<useconds_t>(options.number("--settle-ms", 500) * 1000);
  options.done();
  raise_descriptor_limit();

  KafkaClient encoder(port);
  pelton::proto::MetadataRequest no_topics;
  no_topics.topics = std::span<pelton::proto::MetadataRequest::MetadataRequestTopic>{};
  std::vector<uint8_t> metadata = encoder.encode(no_topics);
  std::vector<uint8_t> versions = encoder.encode(pelton::proto::ApiVersionsRequest{
      .client_software_name = "bench", .client_software_version = "1"});
  std::vector<uint8_t> scratch(65536);
  std::vector<Fd> sockets;
  sockets.reserve(connections);
  int64_t before = 0, at_first = 0;
  before = process_rss_bytes(pid);
  int64_t started = monotonic_ns();
  for (size_t i = 0; i < connections; ++i) {
    if (i == connections / 10) {
      ::usleep(settle);
      at_first = process_rss_bytes(pid);
    }
    sockets.push_back(connect_loopback(port));
    ask(sockets.back(), versions, scratch);
    ask(sockets.back(), metadata, scratch);
  }
  double seconds = static_cast<double>(monotonic_ns() - started) / 1e9;
  ::usleep(settle);
  int64_t at_end = process_rss_bytes(pid);
  for (size_t i = 0; i < connections; i += 10) ask(sockets[i], metadata, scratch);
  int64_t more = static_cast<int64_t>(connections - connections / 10);
  fmt::print(R"({{"connections": {}, "seconds": {:.2f}, "rss_before": {}, "rss_at_end": {}, )"
             R"("bytes_per_connection": {}}})"
             "\n",
             connections, seconds, before, at_end, (at_end - at_first) / more);
}
