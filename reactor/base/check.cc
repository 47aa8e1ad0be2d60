#include "reactor/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pelton {

void check_failed(const char* file, int line, const char* condition, const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s%s%s\n", file, line, condition,
               *message ? ": " : "", message);
  std::abort();
}

}  // namespace pelton
