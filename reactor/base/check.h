// CHECK for bugs: always on, in release too. A failed check names the condition, prints what the
// caller adds, and aborts. Never use it for input from the wire, from disk or from the user: those
// are values (result.h).
#pragma once

namespace pelton {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message) noexcept;

}  // namespace pelton

#define PELTON_CHECK_PICK(_1, _2, name, ...) name
#define PELTON_CHECK_1(condition) PELTON_CHECK_2(condition, "")
#define PELTON_CHECK_2(condition, message)                                  \
  do {                                                                      \
    if (!(condition)) [[unlikely]]                                          \
      ::pelton::check_failed(__FILE__, __LINE__, #condition, message);      \
  } while (false)

// CHECK(condition) or CHECK(condition, "why it must hold").
#define CHECK(...) PELTON_CHECK_PICK(__VA_ARGS__, PELTON_CHECK_2, PELTON_CHECK_1)(__VA_ARGS__)
