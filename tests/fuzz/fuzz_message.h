// What fuzz_request and fuzz_response share. The first byte chooses the API, the second the version, so
// that no input is spent on unknown ones; the rest is the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/any_message.h"
#include "proto/api.h"
#include "proto/arena.h"
#include "proto/wire.h"
#include "reactor/base/bytes.h"
#include "reactor/base/check.h"

namespace pelton::proto {

constexpr size_t kChoiceBytes = 2;
// Re-encoding may make a message longer than it was read (a short form of a default), never by much.
constexpr size_t kArenaLimit = 4 << 20;

inline std::vector<uint8_t> encoded(const MessageType& type, const void* message, int16_t version) {
  std::vector<uint8_t> out(type.size(message, version));
  WireWriter writer(out);
  type.encode(message, writer, version);
  CHECK(writer.written() == out.size(), "size() is exact");
  CHECK(writer.holes().empty(), "decoded records are bytes");
  return out;
}

// Decodes anything; what decodes must encode to its announced size, and from then on to the same bytes.
inline void fuzz_message(const MessageType& type, int16_t version, Bytes input) {
  Arena arena(Arena::limit_for(input.size()));
  WireReader reader(input, arena);
  const void* message = type.decode(reader, version);
  CHECK(arena.used() <= arena.limit());
  if (message == nullptr || !reader.ok()) return;
  CHECK(reader.left() <= input.size());
  std::string text;
  type.dump(message, text, version);

  std::vector<uint8_t> first = encoded(type, message, version);
  Arena second_arena(kArenaLimit);
  WireReader second_reader(first, second_arena);
  const void* again = type.decode(second_reader, version);
  CHECK(again != nullptr && second_reader.ok(), "what was encoded decodes");
  CHECK(second_reader.left() == 0, "all of it");
  CHECK(encoded(type, again, version) == first, "to the same bytes");
}

inline void fuzz_api_message(const MessageType* (*find)(int16_t), Bytes input) {
  if (input.size() < kChoiceBytes) return;
  const ApiInfo& api = all_apis()[input[0] % all_apis().size()];
  const MessageType* type = find(static_cast<int16_t>(api.key));
  CHECK(type != nullptr, "every API has its messages");
  int versions = type->max_version - type->min_version + 1;
  auto version = static_cast<int16_t>(type->min_version + input[1] % versions);
  fuzz_message(*type, version, input.subspan(kChoiceBytes));
}

}  // namespace pelton::proto
