// Dispatch: the table of what this broker can do, one row an API. A newcomer's index of handlers/.
//
// Rows hold the versions that are advertised, the operation and resource to authorize, and the handler.
// A handler runs on the connection's shard first; it may answer at once, hop, or keep the request.
#pragma once

#include <cstdint>
#include <span>

#include "broker/authorize.h"
#include "proto/api.h"

namespace pelton::broker {

struct BrokerShard;
class Request;

struct ApiHandler {
  proto::ApiKey key;
  int16_t min_version;   // lowest version that is answered
  int16_t max_version;
  int16_t advertised_min;  // Produce: 0, because old librdkafka probes it (KAFKA-18659)
  Operation operation;
  ResourceType resource;
  void (*handle)(BrokerShard& here, Request& request);
  bool on_controller = false;  // answered on the controller's listeners too
};

// Sorted by key; only what works.
std::span<const ApiHandler> api_handlers();
// controller: only what is answered on the controller's listeners.
const ApiHandler* find_handler(int16_t key, bool controller = false);

}  // namespace pelton::broker
