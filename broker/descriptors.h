// How the descriptors that the process may have are shared: of sixteen parts four are for segment files, ten for
// connections, one for those that wait to become some, and one for everything else (listeners, rings, the metrics'
// clients, files that are just being written).
#pragma once

#include <cstddef>

namespace pelton::broker {

// Takes as many as the process is allowed to have at all. Before anything counts them.
void raise_descriptor_limit();

// Of one shard, for segment files.
size_t segment_descriptors(size_t shards);
// Of the process: connections, and connections that wait to become some.
size_t connection_descriptors();
size_t waiting_descriptors(size_t backlog);

}  // namespace pelton::broker
