// A request may name the same thing many times; what its answer copies into the arena is bounded.
#pragma once

#include <cstddef>

#include "proto/arena.h"

namespace pelton::broker {

inline constexpr size_t kMaxAnswerBytes = size_t{256} << 20;

inline bool answer_has_room(const proto::Arena& arena, size_t bytes) {
  return arena.used() + bytes <= kMaxAnswerBytes;
}

}  // namespace pelton::broker
