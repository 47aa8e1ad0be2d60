// The check of a client's leader epoch against the partition's (KIP-320).
#pragma once

#include <cstdint>

#include "proto/error_code.h"

namespace pelton::broker {

// asked < 0: the client does not know one.
inline proto::ErrorCode check_leader_epoch(int32_t asked, int32_t current) {
  if (asked < 0 || asked == current) return proto::ErrorCode::kNone;
  return asked < current ? proto::ErrorCode::kFencedLeaderEpoch
                         : proto::ErrorCode::kUnknownLeaderEpoch;
}

}  // namespace pelton::broker
