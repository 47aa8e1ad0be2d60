#include "proto/error_code.h"

namespace pelton::proto {

extern const ErrorCodeInfo kErrorCodeTable[];
extern const int16_t kFirstErrorCode;
extern const int16_t kLastErrorCode;

const ErrorCodeInfo* find_error_code(int16_t code) {
  if (code < kFirstErrorCode || code > kLastErrorCode) return nullptr;
  return &kErrorCodeTable[code - kFirstErrorCode];
}

std::string_view name(ErrorCode code) {
  const ErrorCodeInfo* info = find_error_code(wire(code));
  return info != nullptr ? info->name : name(ErrorCode::kUnknownServerError);
}

bool retriable(ErrorCode code) {
  const ErrorCodeInfo* info = find_error_code(wire(code));
  return info != nullptr && info->retriable;
}

}  // namespace pelton::proto
