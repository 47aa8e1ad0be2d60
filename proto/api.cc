#include "proto/api.h"

#include <algorithm>

namespace pelton::proto {

extern const ApiInfo kApiTable[];
extern const size_t kApiTableSize;

std::span<const ApiInfo> all_apis() { return {kApiTable, kApiTableSize}; }

const ApiInfo* find_api(int16_t key) {
  std::span<const ApiInfo> apis = all_apis();
  auto at = std::ranges::lower_bound(apis, key, {},
                                     [](const ApiInfo& api) { return static_cast<int16_t>(api.key); });
  return at != apis.end() && static_cast<int16_t>(at->key) == key ? &*at : nullptr;
}

int16_t request_header_version(int16_t key, int16_t version) {
  const ApiInfo* api = find_api(key);
  if (api == nullptr) return kNoHeaderVersion;
  return version >= api->flexible_from ? 2 : 1;
}

int16_t response_header_version(int16_t key, int16_t version) {
  const ApiInfo* api = find_api(key);
  if (api == nullptr) return kNoHeaderVersion;
  if (api->key == ApiKey::kApiVersions) return 0;
  return version >= api->flexible_from ? 1 : 0;
}

}  // namespace pelton::proto
