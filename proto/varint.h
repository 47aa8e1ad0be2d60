// Zigzag varints of the record format: varint (32 bits, at most 5 bytes), varlong (64 bits, at most 10).
// Readers take from the front of a span and stop at its end; they refuse numbers that are too long or
// that do not fit, so that every number has few encodings and none wraps silently.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reactor/base/bytes.h"

namespace pelton::proto {

inline constexpr size_t kMaxVarlongSize = 10;

template <std::signed_integral T>
constexpr std::make_unsigned_t<T> zigzag(T value) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(static_cast<U>(value) << 1) ^ static_cast<U>(value >> (sizeof(T) * 8 - 1));
}

template <std::unsigned_integral U>
constexpr std::make_signed_t<U> unzigzag(U value) {
  return static_cast<std::make_signed_t<U>>((value >> 1) ^ (~(value & 1) + 1));
}

// Takes a base-128 number from the front of `from`. False, with `from` unchanged, when the bytes end
// inside it or it does not fit T.
template <std::unsigned_integral U>
inline bool take_base128(Bytes& from, U& value) {
  constexpr size_t kBits = sizeof(U) * 8;
  constexpr size_t kMaxSize = (kBits + 6) / 7;
  constexpr unsigned kLastByteMax = (1u << (kBits - 7 * (kMaxSize - 1))) - 1;
  U result = 0;
  size_t end = from.size() < kMaxSize ? from.size() : kMaxSize;
  for (size_t i = 0; i < end; ++i) {
    uint8_t byte = from[i];
    if (i == kMaxSize - 1 && byte > kLastByteMax) return false;
    result |= static_cast<U>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = result;
      from = from.subspan(i + 1);
      return true;
    }
  }
  return false;
}

// int32_t: varint; int64_t: varlong.
template <std::signed_integral T>
inline bool take_varint(Bytes& from, T& value) {
  std::make_unsigned_t<T> raw;
  if (!take_base128(from, raw)) return false;
  value = unzigzag(raw);
  return true;
}

// The same on plain pointers, for walks where every nanosecond counts: the place after the number, nullptr
// when take_varint would fail. Numbers of one and two bytes, nearly all, are read without a loop.
template <std::signed_integral T>
inline const uint8_t* read_varint(const uint8_t* at, const uint8_t* end, T& value) {
  using U = std::make_unsigned_t<T>;
  if (end - at >= 2) [[likely]] {
    uint8_t first = at[0], second = at[1];
    if (first < 0x80) {
      value = unzigzag(static_cast<U>(first));
      return at + 1;
    }
    if (second < 0x80) {
      value = unzigzag(static_cast<U>(static_cast<U>(first & 0x7f) | static_cast<U>(second) << 7));
      return at + 2;
    }
  }
  Bytes left(at, end);
  return take_varint(left, value) ? left.data() : nullptr;
}

template <std::signed_integral T>
constexpr size_t varint_size(T value) {
  size_t bits = static_cast<size_t>(std::bit_width(zigzag(value)));
  return bits == 0 ? 1 : (bits + 6) / 7;
}

// Writes varint_size(value) bytes and returns the place after them.
template <std::signed_integral T>
inline uint8_t* put_varint(uint8_t* to, T value) {
  auto raw = zigzag(value);
  while (raw >= 0x80) {
    *to++ = static_cast<uint8_t>(raw | 0x80);
    raw >>= 7;
  }
  *to++ = static_cast<uint8_t>(raw);
  return to;
}

}  // namespace pelton::proto
