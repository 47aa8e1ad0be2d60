// RequestMetrics: what one shard counts of the requests of its connections, by API.
//
// Owner shard: the connections'. An API costs memory (about 1 KiB) from its first request on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "proto/api.h"
#include "reactor/base/latency.h"

namespace pelton::broker {

// Stages of a request, with the meaning of Apache Kafka's request metrics.
enum class Stage : uint8_t {
  kLocal,          // the handler's own work, until it waits or goes to another shard
  kRemote,         // waiting: for data, a sync, a rebalance, another shard
  kResponseQueue,  // behind earlier answers of the same connection
  kResponseSend,   // until the kernel has taken the whole answer
  kTotal,
};
inline constexpr size_t kStages = 5;
const char* name(Stage stage);

// Moments of one request, in nanoseconds of the monotonic clock.
struct RequestTimes {
  uint64_t begun = 0;     // its last byte is here
  uint64_t returned = 0;  // its handler gave the shard back
  uint64_t answered = 0;
  uint64_t queued = 0;    // handed to the socket's queue
};

struct ApiMetrics {
  std::array<LatencyHistogram, kStages> stages;
  const LatencyHistogram& of(Stage stage) const { return stages[static_cast<size_t>(stage)]; }
};

class RequestMetrics {
 public:
  // The answer has left (or there was none to send).
  void record(proto::ApiKey api, const RequestTimes& times, uint64_t sent_ns);

  using ByApi = std::map<int16_t, ApiMetrics>;
  // A copy of what there is now.
  ByApi sample() const;

 private:
  static constexpr size_t kKeys = 128;  // of API keys, the highest known one is below
  std::array<std::unique_ptr<ApiMetrics>, kKeys> by_key_;
};

}  // namespace pelton::broker
