#include "tests/golden/codec/random_value.h"

#include <algorithm>
#include <string>

namespace pelton::golden {
namespace {

constexpr int kExtremes = 7;
constexpr std::string_view kTexts[] = {
    "a",
    "topic-1",
    "with space",
    "quote \" back \\ slash /",
    "line\nfeed\ttab\r\x01\x7f",
    "caf\u00e9 \u00df \u4e2d\u6587",
    "\U0001F600 astral",
    "null",
    "\u2028\u2029",
};

uint64_t mix(std::string_view name, int16_t version, int seed) {
  uint64_t state = 1469598103934665603u;
  for (char c : name) state = (state ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return state + static_cast<uint64_t>(version) * 8191 + static_cast<uint64_t>(seed);
}

}  // namespace

RandomValue::RandomValue(std::string_view name, int16_t version, int seed, proto::Arena& arena)
    : arena_(arena), seed_(seed), engine_(mix(name, version, seed)) {}

Choice RandomValue::choice(bool nullable, bool holder) {
  switch (seed_) {
    case 0:
      return Choice::kDefault;
    case 1:
      return Choice::kFull;
    case 2:
      return nullable && !holder ? Choice::kNull : Choice::kFull;
    case 3:
      return holder ? Choice::kFull : Choice::kEmpty;
    case 4:
      return holder ? Choice::kFull : Choice::kDefault;
    case 5:
      return nullable ? Choice::kNull : Choice::kFull;
    case 6:
      return Choice::kEmpty;
    default:
      break;
  }
  const uint32_t turn = below(10);
  if (turn == 0 && nullable) return Choice::kNull;
  if (turn <= 2) return Choice::kDefault;
  return turn == 3 ? Choice::kEmpty : Choice::kFull;
}

size_t RandomValue::count() { return seed_ < kExtremes ? 1 + below(2) : below(4); }

void RandomValue::full(double& value) {
  constexpr double kReals[] = {1, -1.5, 0.1, 1e300, 5e-324, 1.7976931348623157e308, 1 / 3.0};
  value = below(2) == 0 ? kReals[below(std::size(kReals))]
                        : static_cast<double>(integer<int32_t>()) / 1000;
}

void RandomValue::full(Uuid& value) {
  for (uint8_t& byte : value.bytes) byte = static_cast<uint8_t>(engine_());
}

void RandomValue::full(std::string_view& value) {
  std::string text(kTexts[below(std::size(kTexts))]);
  if (below(15) == 0) {
    const std::string once = text;
    for (uint32_t i = 100 + below(50); i > 0; --i) text += once;
  } else if (below(2) == 0) {
    text += std::to_string(integer<int32_t>());
  }
  value = arena_.copy(std::string_view(text));
}

void RandomValue::full(Bytes& value) {
  const size_t size = below(12) == 0 ? 120 + below(200) : 1 + below(9);
  const std::span<uint8_t> bytes = arena_.array<uint8_t>(size);
  std::ranges::generate(bytes, [this] { return static_cast<uint8_t>(engine_()); });
  value = bytes;
}

void RandomValue::full(proto::Records& value) {
  Bytes bytes;
  full(bytes);
  value = proto::Records::of(bytes);
}

}  // namespace pelton::golden
