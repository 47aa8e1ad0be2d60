// Strong<Tag, T>: an integer that does not mix with other integers (broker id, offset, ...).
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>

namespace pelton {

template <class Tag, std::integral T>
struct Strong {
  using Value = T;
  T value{};

  constexpr Strong() = default;
  constexpr explicit Strong(T from) : value(from) {}
  friend constexpr auto operator<=>(Strong, Strong) = default;
  friend constexpr bool operator==(Strong, Strong) = default;
};

}  // namespace pelton

template <class Tag, class T>
struct std::hash<pelton::Strong<Tag, T>> {
  size_t operator()(pelton::Strong<Tag, T> id) const noexcept { return std::hash<T>{}(id.value); }
};
