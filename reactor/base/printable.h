// Text for a terminal or a log: what it says must not look like more than one line, nor steer a terminal.
#pragma once

#include <string>
#include <string_view>

namespace pelton {

// Control bytes (below 0x20, and 0x7f) as \xNN; everything else as it is, whether it is UTF-8 or not.
std::string printable(std::string_view text);

}  // namespace pelton
