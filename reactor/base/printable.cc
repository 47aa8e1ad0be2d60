#include "reactor/base/printable.h"

#include <iterator>

#include <fmt/format.h>

namespace pelton {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
    } else {
      shown.push_back(c);
    }
  }
  return shown;
}

}  // namespace pelton
