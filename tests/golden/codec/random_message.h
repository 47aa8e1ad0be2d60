// RandomMessage: gives the fields of a generated message random values; the generated fill()
// functions (gen_random.py) call it for each field that a version has. `nullable` says whether that
// version can carry null. Lives for one message; what it makes lives in the arena.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "tests/golden/codec/random_value.h"

namespace pelton::golden {

class RandomMessage {
 public:
  explicit RandomMessage(RandomValue& values) : values_(values) {}

  proto::Arena& arena() { return values_.arena(); }

  template <class T>
  void set(std::optional<T>& field, bool nullable, int16_t version) {
    switch (choice<T>(nullable, !field.has_value())) {
      case Choice::kDefault:
        return;
      case Choice::kNull:
        return field.reset();
      case Choice::kEmpty:
        field.emplace();
        return;
      case Choice::kFull:
        field.emplace();
        return full(*field, version);
    }
  }

  template <class T>
  void set(T*& field, bool nullable, int16_t version) {
    switch (choice<T>(nullable, field == nullptr)) {
      case Choice::kDefault:
        return;
      case Choice::kNull:
        field = nullptr;
        return;
      case Choice::kEmpty:
      case Choice::kFull:
        field = values_.arena().make<T>();
        return full(*field, version);
    }
  }

  template <class T>
  void set(T& field, bool nullable, int16_t version) {
    bool null = false;
    if constexpr (std::is_same_v<T, proto::Records>) null = field.null;
    switch (choice<T>(nullable, null)) {
      case Choice::kDefault:
        return;
      case Choice::kNull:
        field = {};  // only records can be null here
        return;
      case Choice::kEmpty:
        return empty(field, version);
      case Choice::kFull:
        return full(field, version);
    }
  }

 private:
  template <class T>
  static constexpr bool is_value() {
    return requires(RandomValue & values, T & value) { values.full(value); };
  }
  // A struct, or an array of structs.
  template <class T>
  static constexpr bool is_holder() {
    if constexpr (is_value<T>()) {
      return false;
    } else if constexpr (requires { typename T::element_type; }) {
      return !is_value<typename T::element_type>();
    } else {
      return true;
    }
  }

  // A default of null is no choice in a version that cannot carry it.
  template <class T>
  Choice choice(bool nullable, bool null_now) {
    const Choice choice = values_.choice(nullable, is_holder<T>());
    return choice == Choice::kDefault && null_now && !nullable ? Choice::kEmpty : choice;
  }

  template <class T>
  void empty(T& value, int16_t version) {
    if constexpr (is_value<T>() || requires { value.data(); }) {
      values_.empty(value);
    } else {
      fill(*this, value, version);
    }
  }

  template <class T>
  void full(T& value, int16_t version) {
    if constexpr (is_value<T>()) {
      values_.full(value);
    } else if constexpr (requires { value.data(); }) {
      value = values_.arena().array<typename T::element_type>(values_.count());
      for (auto& item : value) full(item, version);
    } else {
      fill(*this, value, version);
    }
  }

  RandomValue& values_;
};

// How to make one message, by name.
struct RandomMaker {
  std::string_view name;
  const void* (*make)(RandomMessage& random, int16_t version);
};

template <class Message>
const void* make_random(RandomMessage& random, int16_t version) {
  Message* message = random.arena().make<Message>();
  fill(random, *message, version);
  return message;
}

// nullptr when there is none.
const RandomMaker* random_maker(std::string_view name);

}  // namespace pelton::golden
