// RandomValue: choices and values of one seed for one message. The first seeds are extremes (all
// default, all set, all null, all empty, ...), the others mix everything. What it hands out lives in the
// arena. Deterministic: the same name, version and seed give the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <type_traits>

#include "proto/arena.h"
#include "proto/types.h"
#include "reactor/base/bytes.h"
#include "reactor/base/strong.h"
#include "reactor/base/uuid.h"

namespace pelton::golden {

enum class Choice : uint8_t { kDefault, kNull, kEmpty, kFull };

class RandomValue {
 public:
  RandomValue(std::string_view name, int16_t version, int seed, proto::Arena& arena);

  proto::Arena& arena() { return arena_; }

  // `holder`: a struct or an array of structs; several extremes must reach what is in it.
  Choice choice(bool nullable, bool holder);
  // How many items a full array has: 0 to 3.
  size_t count();

  void empty(auto& value) { value = {}; }
  void empty(proto::Records& value) { value = proto::Records::of({}); }
  void full(bool& value) { value = below(4) != 0; }
  void full(int8_t& value) { value = integer<int8_t>(); }
  void full(int16_t& value) { value = integer<int16_t>(); }
  void full(uint16_t& value) { value = integer<uint16_t>(); }
  void full(int32_t& value) { value = integer<int32_t>(); }
  void full(uint32_t& value) { value = integer<uint32_t>(); }
  void full(int64_t& value) { value = integer<int64_t>(); }
  void full(double& value);
  void full(Uuid& value);
  void full(std::string_view& value);
  void full(Bytes& value);
  void full(proto::Records& value);
  template <class Tag, class T>
  void full(Strong<Tag, T>& value) {
    full(value.value);
  }

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(engine_() % end); }

 private:
  template <class T>
  T integer() {
    switch (below(5)) {
      case 0:
        return std::numeric_limits<T>::min();
      case 1:
        return std::numeric_limits<T>::max();
      case 2:
        return std::is_signed_v<T> ? static_cast<T>(-1) : T{0};
      case 3:
        return static_cast<T>(1 + below(100));
      default:
        return static_cast<T>(engine_());
    }
  }

  proto::Arena& arena_;
  int seed_;
  std::mt19937_64 engine_;
};

}  // namespace pelton::golden
