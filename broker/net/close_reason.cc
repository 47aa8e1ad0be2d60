#include "broker/net/close_reason.h"

namespace pelton::broker {

const char* name(CloseReason reason) {
  switch (reason) {
    case CloseReason::kClient: return "client";
    case CloseReason::kIdle: return "idle";
    case CloseReason::kSetupTimeout: return "setup_timeout";
    case CloseReason::kReceiveTimeout: return "receive_timeout";
    case CloseReason::kBadRequest: return "bad_request";
    case CloseReason::kSendFailed: return "send_failed";
    case CloseReason::kDiskFailed: return "disk_failed";
    case CloseReason::kMemory: return "memory";
    case CloseReason::kMaxConnections: return "max_connections";
    case CloseReason::kMaxPerAddress: return "max_connections_per_ip";
    case CloseReason::kStopping: return "stopping";
  }
  return "";
}

}  // namespace pelton::broker
