// ConfigFault: why a change of configuration is refused, with Apache Kafka's error code.
#pragma once

#include <string>

#include "proto/error_code.h"

namespace pelton::broker {

struct ConfigFault {
  proto::ErrorCode error = proto::ErrorCode::kNone;
  std::string why;  // one sentence; empty without an error
};

}  // namespace pelton::broker
