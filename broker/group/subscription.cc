#include "broker/group/subscription.h"

#include "proto/messages/consumer_protocol.h"
#include "proto/wire.h"

namespace pelton::broker::group {

bool add_subscribed_topics(Bytes metadata, std::set<std::string, std::less<>>& topics) {
  proto::Arena arena(proto::Arena::limit_for(metadata.size()));
  proto::WireReader in(metadata, arena);
  int16_t version = in.read_i16();
  // Version 0 is the beginning of every later version.
  proto::ConsumerProtocolSubscription subscription;
  subscription.decode(in, 0);
  if (!in.ok() || version < 0) return false;
  for (std::string_view topic : subscription.topics) topics.emplace(topic);
  return true;
}

}  // namespace pelton::broker::group
