#include "broker/group/classic_member.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pelton::broker::group {

size_t ClassicMember::bytes_of(
    std::span<const proto::JoinGroupRequest::JoinGroupRequestProtocol> offered) {
  size_t bytes = 0;
  for (const auto& protocol : offered) {
    bytes += sizeof(MemberProtocol) + protocol.name.size() + protocol.metadata.size();
  }
  return bytes;
}

size_t ClassicMember::protocol_bytes() const {
  size_t bytes = 0;
  for (const MemberProtocol& protocol : protocols) {
    bytes += sizeof(MemberProtocol) + protocol.name.size() + protocol.metadata.size();
  }
  return bytes;
}

void ClassicMember::set_assignment(Blob bytes) {
  assignment = std::move(bytes);
  count_memory();
}

void ClassicMember::count_memory() {
  size_t texts = client_id.size() + client_host.size() + protocol_type.size();
  if (instance_id) texts += 2 * instance_id->size() + kNodeBytes;
  charge.set(sizeof(ClassicMember) - sizeof(Session) + texts + protocol_bytes() + assignment.size());
}

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
