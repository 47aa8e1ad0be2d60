// One Produce request of a simulated client, in a version drawn for it.
#pragma once

#include <functional>
#include <vector>

#include "tests/sim/client/client.h"

namespace pelton::sim {

struct ProducePart {
  int32_t partition;
  Bytes batch;
};
struct ProduceAnswer {
  int32_t partition;
  int16_t error;
  int64_t base_offset;
};

// `then` gets one answer for each part, in order; not called for acks=0.
void send_produce(Link& link, Context& context, size_t topic, int16_t acks,
                  const std::vector<ProducePart>& parts,
                  std::function<void(const std::vector<ProduceAnswer>&)> then);

}  // namespace pelton::sim
