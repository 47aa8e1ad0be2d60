// Errors are values: Result<T> is T or a system error; Result<T, E> is T or an E.
// An exception never crosses a module boundary.
#pragma once

#include <cerrno>
#include <expected>
#include <string>

namespace pelton {

// An errno value (positive). 0 is never an error.
struct SysError {
  int code = 0;
  friend bool operator==(SysError, SysError) = default;
};

// "No space left on device (ENOSPC)".
std::string to_string(SysError error);

template <class T, class E = SysError>
using Result = std::expected<T, E>;
using Status = Result<void>;

inline std::unexpected<SysError> sys_error(int code) { return std::unexpected(SysError{code}); }
inline std::unexpected<SysError> last_sys_error() { return sys_error(errno); }

}  // namespace pelton
