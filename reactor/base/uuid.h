// A 128-bit id, and its text form (url-safe base64 without padding, 22 characters), as Kafka prints ids.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pelton {

struct Uuid {
  std::array<uint8_t, 16> bytes{};

  bool is_zero() const { return *this == Uuid{}; }
  std::string to_string() const;
  static std::optional<Uuid> parse(std::string_view text);
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

}  // namespace pelton

template <>
struct std::hash<pelton::Uuid> {
  size_t operator()(const pelton::Uuid& id) const noexcept {
    uint64_t halves[2];
    std::memcpy(halves, id.bytes.data(), sizeof halves);
    return static_cast<size_t>(halves[0] ^ (halves[1] * 0x9E3779B97F4A7C15ull));
  }
};
