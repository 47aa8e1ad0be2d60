#include "broker/produce/produce_order.h"

#include "reactor/base/check.h"

namespace pelton::broker {

void ProduceOrder::enter(Place& place) {
  auto [line, begun] = last_.try_emplace(place.connection, &place);
  if (begun) return;
  place.first = false;
  line->second->behind = &place;
  line->second = &place;
}

void ProduceOrder::ready(Place& place) {
  CHECK(!place.ready);
  place.ready = true;
  Place* next = &place;
  while (next != nullptr && next->first && next->ready) {
    Place* behind = next->behind;
    if (behind != nullptr) {
      behind->first = true;
    } else {
      last_.erase(next->connection);
    }
    next->start(*next);  // which may end the request, and its place
    next = behind;
  }
}

}  // namespace pelton::broker
