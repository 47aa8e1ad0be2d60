#include "storage/descriptor_cache.h"

#include <algorithm>

#include "reactor/base/check.h"
#include "storage/segment.h"

namespace pelton::storage {

DescriptorCache::DescriptorCache(Loop& loop, size_t max_open_files)
    : loop_(loop),
      files_(loop.io().files()),
      max_open_files_(std::max<size_t>(max_open_files, 1)),
      sweep_timer_(Timer::bind<&DescriptorCache::sweep>(this)) {}

DescriptorCache::~DescriptorCache() {
  loop_.timers().cancel(sweep_timer_);
  drop_unpinned_dead();
  CHECK(graveyard_.empty(), "a slice outlives the storage of its shard");
  CHECK(by_use_.empty(), "a log outlives the storage of its shard");
}

Result<FileFd> DescriptorCache::get(Segment& segment) {
  if (segment.file_ < 0) {
    make_room();
    Result<FileFd> file = files_.open(segment.path(kLogSuffix), OpenMode::kReadWrite);
    if (!file) return file;
    adopt(segment, *file);
    return file;
  }
  segment.used_in_sweep_ = generation_;
  by_use_.erase(by_use_.iterator_to(segment));
  by_use_.push_back(segment);
  return segment.file_;
}

void DescriptorCache::adopt(Segment& segment, FileFd file) {
  CHECK(segment.file_ < 0);
  segment.file_ = file;
  segment.used_in_sweep_ = generation_;
  by_use_.push_back(segment);
  ++open_files_;
  start_sweep();
}

void DescriptorCache::close(Segment& segment) {
  if (segment.file_ < 0) return;
  by_use_.erase(by_use_.iterator_to(segment));
  files_.close(segment.file_);
  segment.file_ = -1;
  --open_files_;
}

void DescriptorCache::bury(std::unique_ptr<Segment> segment) {
  if (!segment->pinned()) {
    close(*segment);
    return;
  }
  graveyard_.push_back(std::move(segment));
  start_sweep();
}

void DescriptorCache::make_room() {
  for (auto at = by_use_.begin(); open_files_ >= max_open_files_ && at != by_use_.end();) {
    Segment& oldest = *at++;
    if (!oldest.pinned()) close(oldest);
  }
}

void DescriptorCache::start_sweep() {
  if (!sweep_timer_.active()) loop_.timers().start(sweep_timer_, loop_.now_ns() + kSweepNs);
}

void DescriptorCache::sweep() {
  drop_unpinned_dead();
  for (auto at = by_use_.begin(); at != by_use_.end() && at->used_in_sweep_ < generation_;) {
    Segment& idle = *at++;
    if (!idle.pinned()) close(idle);
  }
  ++generation_;
  if (!by_use_.empty() || !graveyard_.empty()) start_sweep();
}

void DescriptorCache::drop_unpinned_dead() {
  std::erase_if(graveyard_, [this](std::unique_ptr<Segment>& segment) {
    if (segment->pinned()) return false;
    close(*segment);
    return true;
  });
}

}  // namespace pelton::storage
