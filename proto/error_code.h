// Kafka's error codes; the list is schema/error_codes.table. Constant data.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/messages/error_code_values.h"

namespace pelton::proto {

struct ErrorCodeInfo {
  std::string_view name;
  bool retriable;
  bool refresh;  // a client should refresh its metadata
};

// What is known of a code; nullptr for one that is not in the table.
const ErrorCodeInfo* find_error_code(int16_t code);

// "OFFSET_OUT_OF_RANGE"; "UNKNOWN_SERVER_ERROR" for a value that is not in the table.
std::string_view name(ErrorCode code);

// Whether the client may succeed by trying again.
bool retriable(ErrorCode code);

// The value for an int16 error_code field.
constexpr int16_t wire(ErrorCode code) { return static_cast<int16_t>(code); }

}  // namespace pelton::proto
