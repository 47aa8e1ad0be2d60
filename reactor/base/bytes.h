// Views of bytes and big-endian access. Views own nothing: whoever hands one out says how long it lives.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace pelton {

using Bytes = std::span<const uint8_t>;
using MutableBytes = std::span<uint8_t>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Unaligned big-endian load. The caller has checked that sizeof(T) bytes are there.
template <std::integral T>
inline T load_be(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) value = static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
    if constexpr (sizeof(T) == 4) value = static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
    if constexpr (sizeof(T) == 8) value = static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  }
  return value;
}

// Unaligned big-endian store of sizeof(T) bytes.
template <std::integral T>
inline void store_be(uint8_t* to, T value) {
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) value = static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
    if constexpr (sizeof(T) == 4) value = static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
    if constexpr (sizeof(T) == 8) value = static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  }
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace pelton
