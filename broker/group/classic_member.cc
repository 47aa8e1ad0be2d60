#include "broker/group/classic_member.h"

#include <algorithm>
#include <set>

namespace pelton::broker::group {

void ClassicMember::set_protocols(
    std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> offered) {
  protocols.clear();
  std::set<std::string_view> seen;  // a walk for each would be quadratic in what a client sends
  for (const auto& protocol : offered) {
    if (!seen.insert(protocol.name).second) continue;
    protocols.push_back({std::string(protocol.name), to_blob(protocol.metadata)});
  }
}

bool ClassicMember::supports(std::string_view protocol) const {
  return std::ranges::any_of(protocols, [&](const auto& one) { return one.name == protocol; });
}

Bytes ClassicMember::metadata(std::string_view protocol) const {
  auto found =
      std::ranges::find_if(protocols, [&](const auto& one) { return one.name == protocol; });
  return found == protocols.end() ? Bytes{} : Bytes(found->metadata);
}

bool ClassicMember::matches(
    std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> other) const {
  return std::ranges::equal(protocols, other, [](const auto& mine, const auto& theirs) {
    return mine.name == theirs.name && std::ranges::equal(mine.metadata, theirs.metadata);
  });
}

}  // namespace pelton::broker::group
