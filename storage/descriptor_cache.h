// DescriptorCache: the open segment files of one shard's logs, at most so many; the least recently used
// one without a pin is closed. What nobody used for a while is closed too, so that an idle partition
// holds no descriptor.
//
// Also keeps segments that their log has dropped while slices still pin them: a pin may be released on
// any shard and calls nobody, so the owner looks again from time to time.
//
// Owner shard: one. Lifetime: outlives the segments; destroyed when no pin is left.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "reactor/base/intrusive_list.h"
#include "reactor/loop.h"
#include "reactor/timer_wheel.h"

namespace pelton::storage {

class Segment;
struct DescriptorTag;

class DescriptorCache {
 public:
  DescriptorCache(Loop& loop, size_t max_open_files);
  ~DescriptorCache();
  DescriptorCache(const DescriptorCache&) = delete;
  DescriptorCache& operator=(const DescriptorCache&) = delete;

  // The segment's file, opened when it was not. Valid until the next call on this shard, or as long as
  // the segment is pinned.
  Result<FileFd> get(Segment& segment);
  // Takes a file just opened or created.
  void adopt(Segment& segment, FileFd file);
  // Closes the file now. Nothing pins it.
  void close(Segment& segment);

  // Destroys the segment when its last pin is gone.
  void bury(std::unique_ptr<Segment> segment);

  size_t open_files() const { return open_files_; }
  FileSystem& files() { return files_; }

 private:
  static constexpr uint64_t kSweepNs = 20'000'000'000;

  void make_room();
  void sweep();
  void start_sweep();
  void drop_unpinned_dead();

  Loop& loop_;
  FileSystem& files_;
  size_t max_open_files_;
  size_t open_files_ = 0;
  uint64_t generation_ = 1;  // counts sweeps
  IntrusiveList<Segment, DescriptorTag> by_use_;  // least recently used first
  std::vector<std::unique_ptr<Segment>> graveyard_;
  Timer sweep_timer_;
};

}  // namespace pelton::storage
