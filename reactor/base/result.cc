#include "reactor/base/result.h"

#include <cstring>

namespace pelton {

std::string to_string(SysError error) {
  const char* name = strerrorname_np(error.code);
  const char* text = strerrordesc_np(error.code);
  if (name == nullptr || text == nullptr) return "error " + std::to_string(error.code);
  return std::string(text) + " (" + name + ")";
}

}  // namespace pelton
