// What the coordinator reads of the consumers' own protocol: the topics of a subscription. The rest
// of a member's metadata is nobody's business but the members'.
#pragma once

#include <set>
#include <string>

#include "reactor/base/bytes.h"

namespace pelton::broker::group {

// Adds the topics of one member's metadata. False: it is no subscription.
bool add_subscribed_topics(Bytes metadata, std::set<std::string, std::less<>>& topics);

}  // namespace pelton::broker::group
