// The table of APIs: names, versions, listeners, header versions. Constant data, made from the
// schemas; any thread may read it. What a broker advertises is the dispatcher's business.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/messages/api_key.h"

namespace pelton::proto {

struct ApiInfo {
  ApiKey key;
  std::string_view name;  // "Fetch"
  int16_t min_version;
  int16_t max_version;
  int16_t flexible_from;  // INT16_MAX: never
  bool latest_unstable;   // the highest version is not for general use yet
  bool on_broker;
  bool on_controller;
};

// By key, ascending.
std::span<const ApiInfo> all_apis();

// nullptr for an unknown or dead key.
const ApiInfo* find_api(int16_t key);

inline constexpr int16_t kNoHeaderVersion = -1;

// 1, or 2 for flexible versions; kNoHeaderVersion for an unknown key. A version beyond the known
// ones gives what it would have, so that an ApiVersions request from the future can be answered.
int16_t request_header_version(int16_t key, int16_t version);

// 0, or 1 for flexible versions; always 0 for ApiVersions, which a client reads before it knows
// what the broker speaks.
int16_t response_header_version(int16_t key, int16_t version);

}  // namespace pelton::proto
