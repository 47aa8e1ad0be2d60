// Committed offsets as groups' clients ask for them, and the model's name for each.
#pragma once

#include <functional>
#include <string>

#include "tests/sim/client/client.h"

namespace pelton::sim {

std::string offset_name(const std::string& group, const std::string& topic, int32_t partition);

// OffsetFetch of one partition, in a version drawn for it. The model is told what was answered; `then` gets
// the error. Only while nobody else asks about another incarnation of the topic.
void fetch_committed(Link& link, Context& context, const std::string& group, const std::string& topic,
                     int32_t partition, std::function<void(int16_t error)> then);

}  // namespace pelton::sim
