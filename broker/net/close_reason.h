// Why a connection ended, as the metrics count it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pelton::broker {

enum class CloseReason : uint8_t {
  kClient,           // closed or reset by the client
  kIdle,             // connections.max.idle.ms
  kSetupTimeout,     // no request in pelton.connection.setup.timeout.ms
  kReceiveTimeout,   // a request that came too slowly: pelton.request.receive.timeout.ms
  kBadRequest,       // no Kafka protocol, or a request that breaks it
  kSendFailed,       // the answer did not reach the client
  kDiskFailed,       // the answer's data could not be read
  kMemory,           // a request larger than the memory that was left, or that waited for memory too long
  kMaxConnections,   // max.connections: too many wait, or it was made lower
  kMaxPerAddress,    // max.connections.per.ip
  kStopping,         // of the broker
};
inline constexpr size_t kCloseReasons = 11;
const char* name(CloseReason reason);

using CloseCounts = std::array<uint64_t, kCloseReasons>;

}  // namespace pelton::broker
