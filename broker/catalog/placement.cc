#include "broker/catalog/placement.h"

namespace pelton::broker {
namespace {

// FNV-1a, 64 bits: the same on every machine and in every build.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325ull;
  for (char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return value ^ value >> 32;
}

}  // namespace

ShardId shard_of(std::string_view topic, int32_t partition, int shards) {
  auto count = static_cast<uint64_t>(shards);
  return static_cast<ShardId>((hash(topic) + static_cast<uint64_t>(partition)) % count);
}

}  // namespace pelton::broker
