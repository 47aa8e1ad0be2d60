// Topics that the broker makes for itself when they are first needed.
#pragma once

#include <string_view>

#include "broker/catalog/topic_changes.h"
#include "broker/config/broker_config.h"
#include "broker/request.h"

namespace pelton::broker {

inline constexpr std::string_view kOffsetsTopic = "__consumer_offsets";
inline constexpr std::string_view kTransactionsTopic = "__transaction_state";
inline constexpr std::string_view kShareStateTopic = "__share_group_state";

bool is_internal_topic(std::string_view name);

// How the broker makes one of them.
NewTopic internal_topic(std::string_view name, const BrokerConfig& config);

// Creates the topic when the catalog has not got it, then runs `next` on the shard that called. At once
// when it is there. When it could not be created `next` runs all the same and does not find it.
// `name` is one of the constants above. request.state is kept.
void ensure_internal_topic(BrokerShard& here, Request& request, std::string_view name,
                           Request::Continue next);

}  // namespace pelton::broker
