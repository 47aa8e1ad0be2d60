// Types that generated messages are made of. Messages own nothing: strings, bytes and records are
// views into the frame (or whatever the sender of a reply keeps alive), arrays live in an arena.
#pragma once

#include <cstdint>

#include "reactor/base/bytes.h"
#include "reactor/base/strong.h"
#include "reactor/base/uuid.h"

namespace pelton::proto {

using BrokerId = Strong<struct BrokerIdTag, int32_t>;
using ProducerId = Strong<struct ProducerIdTag, int64_t>;

// Record batches inside a message. Null by default, as in Kafka. External records are not in
// memory (a range of a log segment): the writer counts them and leaves a hole.
struct Records {
  Bytes bytes;
  uint32_t external_size = 0;  // > 0: so many bytes come from elsewhere, `bytes` is empty
  uint32_t token = 0;          // the caller's mark for the hole
  bool null = true;

  static Records of(Bytes bytes) { return {.bytes = bytes, .null = false}; }
  static Records external(uint32_t size, uint32_t token) {
    return {.bytes = {}, .external_size = size, .token = token, .null = false};
  }
  uint32_t size() const {
    return external_size > 0 ? external_size : static_cast<uint32_t>(bytes.size());
  }
};

}  // namespace pelton::proto
