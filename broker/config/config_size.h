// How much configuration one resource may set itself: all of it is kept in memory, and looked at again with every
// change.
#pragma once

#include <cstddef>
#include <string>

#include "broker/config/config_layers.h"

namespace pelton::broker {

// What a string of the protocol holds: a longer value, made by appending, could not be told.
inline constexpr size_t kMaxConfigValueBytes = 32'767;
// Keys and values of one resource together.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Why `after` is too much; empty when it is not. What was in `before` already is never held against a change,
// as long as that makes it no larger.
std::string check_config_size(const ConfigTexts& before, const ConfigTexts& after);

}  // namespace pelton::broker
