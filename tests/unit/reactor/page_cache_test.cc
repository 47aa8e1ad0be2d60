#include "reactor/page_cache.h"

#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
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

  bool evict() {
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    // A file system in memory cannot evict.
    return !PageCache(false).cached(fd_, 0, kSize);
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
