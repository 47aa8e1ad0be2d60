#include "reactor/page_cache.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/reactor/temp_dir.h"

namespace pelton {
namespace {

constexpr size_t kSize = 3 << 20;

// Both ways must agree; `true` forces the probe.
class PageCacheTest : public testing::TestWithParam<bool> {
 protected:
  PageCacheTest() {
    fd_ = ::open((dir_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    std::vector<char> bytes(kSize, 'x');
    CHECK(::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(kSize));
    CHECK(::fsync(fd_) == 0);
  }
  ~PageCacheTest() override { ::close(fd_); }

  // True when no page of the file is left in the cache. One call may leave some: pages that another
  // core has just touched are held by its batches for a while. A file system in memory never evicts.
  bool evict() {
    for (int tries = 0; tries < 200; ++tries) {
      ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
      if (resident_pages() == 0) return true;
      ::usleep(5000);
    }
    return false;
  }

  // Asked through mincore, so that neither way under test is its own witness.
  size_t resident_pages() {
    void* mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd_, 0);
    CHECK(mapped != MAP_FAILED);
    std::vector<unsigned char> pages(kSize / 4096);
    CHECK(::mincore(mapped, kSize, pages.data()) == 0);
    CHECK(::munmap(mapped, kSize) == 0);
    return static_cast<size_t>(std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
  }

  test::TempDir dir_;
  int fd_;
};

TEST_P(PageCacheTest, KnowsWhatWasWritten) {
  PageCache cache(GetParam());
  EXPECT_TRUE(cache.cached(fd_, 0, kSize));
  EXPECT_TRUE(cache.cached(fd_, 4095, 2));
  EXPECT_TRUE(cache.cached(fd_, kSize - 1, 1));
  EXPECT_TRUE(cache.cached(fd_, 12345, 2'000'000));
  EXPECT_TRUE(cache.cached(fd_, 0, 0));
}

TEST_P(PageCacheTest, KnowsWhatWasEvicted) {
  if (!evict()) GTEST_SKIP() << "this file system cannot evict pages";
  PageCache cache(GetParam());
  EXPECT_FALSE(cache.cached(fd_, 1 << 20, 1 << 20));
}

TEST_P(PageCacheTest, ARangeWithAHoleInTheCacheIsNotCached) {
  if (!evict()) GTEST_SKIP() << "this file system cannot evict pages";
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // no read-ahead
  char byte;
  ASSERT_EQ(::pread(fd_, &byte, 1, 8192), 1);
  PageCache cache(GetParam());
  EXPECT_TRUE(cache.cached(fd_, 8192, 4096));
  EXPECT_FALSE(cache.cached(fd_, 8192, 3 * 65536));
}

TEST_P(PageCacheTest, ABadDescriptorIsNotCached) {
  EXPECT_FALSE(PageCache(GetParam()).cached(-1, 0, 10));
}

INSTANTIATE_TEST_SUITE_P(BothWays, PageCacheTest, testing::Values(false, true), [](const auto& way) {
  return std::string(way.param ? "Probe" : "Cachestat");
});

TEST(PageCache, ForcedProbeUsesNoCachestat) { EXPECT_FALSE(PageCache(true).uses_cachestat()); }

}  // namespace
}  // namespace pelton
