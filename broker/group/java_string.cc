#include "broker/group/java_string.h"

#include <limits>

namespace pelton::broker::group {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;  // what Java reads where the bytes are no UTF-8

// Takes one code point off the front.
uint32_t next_code_point(std::string_view& text) {
  auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  uint8_t lead = byte(0);
  size_t length = lead < 0x80   ? 1
                  : lead < 0xC2 ? 0
                  : lead < 0xE0 ? 2
                  : lead < 0xF0 ? 3
                  : lead < 0xF5 ? 4
                                : 0;
  if (length == 0 || length > text.size()) {
    text.remove_prefix(1);
    return kReplacement;
  }
  if (length == 1) {
    text.remove_prefix(1);
    return lead;
  }
  uint32_t point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      text.remove_prefix(i);
      return kReplacement;
    }
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = point >= 0xD800 && point < 0xE000;
  text.remove_prefix(length);
  return point < kSmallest[length] || surrogate || point > 0x10FFFF ? kReplacement : point;
}

template <class Visit>
void for_each_unit(std::string_view utf8, Visit&& visit) {
  while (!utf8.empty()) {
    uint32_t point = next_code_point(utf8);
    if (point < 0x10000) {
      visit(point);
    } else {
      visit(0xD800 + ((point - 0x10000) >> 10));
      visit(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
}

}  // namespace

int32_t java_hash(std::string_view utf8) {
  uint32_t hash = 0;
  for_each_unit(utf8, [&](uint32_t unit) { hash = 31 * hash + unit; });
  return static_cast<int32_t>(hash);
}

size_t utf16_length(std::string_view utf8) {
  size_t length = 0;
  for_each_unit(utf8, [&](uint32_t) { ++length; });
  return length;
}

int32_t coordinator_partition_of(std::string_view key, int32_t partitions) {
  int32_t hash = java_hash(key);
  if (hash == std::numeric_limits<int32_t>::min()) return 0;
  return (hash < 0 ? -hash : hash) % partitions;
}

}  // namespace pelton::broker::group
