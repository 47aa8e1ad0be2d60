#include "broker/group/client_host.h"

#include <fmt/format.h>

namespace pelton::broker::group {

std::string_view client_host(Request& request) {
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view host = request.connection().client.host;
  if (host.starts_with(kMapped)) host.remove_prefix(kMapped.size());
  return request.arena().copy(fmt::format("/{}", host));
}

}  // namespace pelton::broker::group
