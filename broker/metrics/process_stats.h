// What the kernel tells about this process. Reads /proc: not for a shard's thread.
#pragma once

#include <cstdint>

namespace pelton::broker {

// What cannot be read is 0.
struct ProcessStats {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_descriptors = 0;
  uint64_t max_descriptors = 0;
  uint64_t threads = 0;
  uint64_t io_workers = 0;  // threads that the kernel made for io_uring ("iou-wrk-...")
};

ProcessStats read_process_stats();

}  // namespace pelton::broker
