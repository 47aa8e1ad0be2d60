// What Java's String says of a text: Kafka places groups by String.hashCode and limits metadata by
// String.length, both over UTF-16 units. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pelton::broker::group {

int32_t java_hash(std::string_view utf8);
size_t utf16_length(std::string_view utf8);

// The partition of a coordinator's topic that a key belongs to. partitions > 0.
int32_t coordinator_partition_of(std::string_view key, int32_t partitions);

}  // namespace pelton::broker::group
