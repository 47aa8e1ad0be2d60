#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/sim/world/sim_disk.h"

namespace pelton::sim {
namespace {

void write(SimDisk& disk, FileFd fd, std::string_view text, uint64_t position) {
  iovec piece{const_cast<char*>(text.data()), text.size()};
  ASSERT_TRUE(disk.pwritev(fd, &piece, 1, position));
}

std::string content(SimDisk& disk, const std::string& path) {
  return read_file(disk, path, 1 << 20).value_or("(none)");
}

// A file that is named and synced.
FileFd durable_file(SimDisk& disk, const std::string& path, std::string_view text) {
  FileFd fd = *disk.open(path, OpenMode::kCreate);
  write(disk, fd, text, 0);
  EXPECT_TRUE(disk.sync(fd));
  EXPECT_TRUE(disk.sync_directory("/"));
  return fd;
}

TEST(SimDisk, ReadsWhatWasWritten) {
  World world(1);
  SimDisk disk(world);
  EXPECT_EQ(disk.open("/a", OpenMode::kRead).error().code, ENOENT);
  FileFd fd = *disk.open("/a", OpenMode::kCreateNew);
  EXPECT_EQ(disk.open("/a", OpenMode::kCreateNew).error().code, EEXIST);
  write(disk, fd, "hello", 3);
  EXPECT_EQ(content(disk, "/a"), std::string("\0\0\0hello", 8));
  ASSERT_TRUE(disk.truncate(fd, 5));
  EXPECT_EQ(*disk.size(fd), 5u);
  ASSERT_TRUE(disk.make_directory("/d"));
  ASSERT_TRUE(disk.rename("/a", "/d/b"));
  EXPECT_FALSE(disk.exists("/a"));
  EXPECT_EQ(disk.remove_directory("/d").error().code, ENOTEMPTY);
  EXPECT_EQ(disk.list("/d")->size(), 1u);
  ASSERT_TRUE(disk.unlink("/d/b"));
  EXPECT_EQ(*disk.size(fd), 5u) << "an open file outlives its name";
}

TEST(SimDisk, KillKeepsEverythingAndFreesLocks) {
  World world(1);
  SimDisk disk(world);
  ASSERT_TRUE(disk.lock("/lock"));
  EXPECT_EQ(disk.lock("/lock").error().code, EWOULDBLOCK);
  FileFd fd = *disk.open("/a", OpenMode::kCreate);
  write(disk, fd, "hello", 0);
  disk.crash(CrashKind::kProcessKill);
  EXPECT_EQ(content(disk, "/a"), "hello");
  EXPECT_TRUE(disk.lock("/lock"));
}

TEST(SimDisk, PowerLossKeepsWhatWasSynced) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed);
    SimDisk disk(world);
    FileFd fd = durable_file(disk, "/a", "hello");
    write(disk, fd, std::string(5000, 'x'), 5);
    disk.crash(CrashKind::kPowerLoss);
    std::string left = content(disk, "/a");
    // The first block was dirty again, but its old bytes are the same in both states.
    EXPECT_EQ(left.substr(0, 5), "hello") << "seed " << seed;
  }
}

TEST(SimDisk, PowerLossLosesTearsOrKeepsTheRest) {
  std::set<size_t> sizes;
  bool torn = false;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    World world(seed);
    SimDisk disk(world);
    FileFd fd = durable_file(disk, "/a", "");
    write(disk, fd, std::string(4 * kBlock, 'x'), 0);
    disk.crash(CrashKind::kPowerLoss);
    std::string left = content(disk, "/a");
    sizes.insert(left.size());
    torn |= left.find('x') != std::string::npos && left.find('\0') != std::string::npos;
  }
  EXPECT_TRUE(sizes.contains(0));
  EXPECT_TRUE(sizes.contains(4 * kBlock));
  EXPECT_GT(sizes.size(), 2u);
  EXPECT_TRUE(torn);
}

TEST(SimDisk, NamesNeedASyncOfTheirDirectory) {
  int kept = 0;
  constexpr int kSeeds = 60;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    SimDisk disk(world);
    FileFd fd = *disk.open("/new", OpenMode::kCreate);
    ASSERT_TRUE(disk.sync(fd));
    disk.crash(CrashKind::kPowerLoss);
    kept += disk.exists("/new") ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, kSeeds);
}

TEST(SimDisk, RenameIsWholeOrNot) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(seed);
    SimDisk disk(world);
    (void)durable_file(disk, "/a", "old");
    (void)durable_file(disk, "/a.tmp", "new");
    ASSERT_TRUE(disk.rename("/a.tmp", "/a"));
    disk.crash(CrashKind::kPowerLoss);
    std::string left = content(disk, "/a");
    EXPECT_TRUE(left == "old" || left == "new") << left;
    EXPECT_EQ(disk.exists("/a.tmp"), left == "old");
  }
}

TEST(SimDisk, WriteFileAtomicallyIsAtomicAndLasts) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(seed);
    SimDisk disk(world);
    ASSERT_TRUE(write_file_atomically(disk, "/a", "first"));
    ASSERT_TRUE(write_file_atomically(disk, "/a", "second"));
    disk.crash(CrashKind::kPowerLoss);
    EXPECT_EQ(content(disk, "/a"), "second");
  }
}

TEST(SimDisk, ASyncCoversWhatWasWrittenBeforeItBegan) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(seed);
    SimDisk disk(world);
    FileFd fd = durable_file(disk, "/a", "");
    write(disk, fd, std::string(kBlock, 'a'), 0);
    SimDisk::Sync sync = disk.begin_sync(fd);
    write(disk, fd, std::string(kBlock, 'b'), kBlock);
    disk.finish_sync(sync);
    disk.crash(CrashKind::kPowerLoss);
    std::string left = content(disk, "/a");
    ASSERT_GE(left.size(), kBlock);
    EXPECT_EQ(left.substr(0, kBlock), std::string(kBlock, 'a'));
    lost |= left.size() == kBlock;
  }
  EXPECT_TRUE(lost) << "the later write was never lost";
}

TEST(SimDisk, SyncsThatEndInAnotherOrderDoNotBringOldBytesBack) {
  World world(1);
  SimDisk disk(world);
  FileFd fd = durable_file(disk, "/a", "");
  write(disk, fd, "old", 0);
  SimDisk::Sync first = disk.begin_file_system_sync(*disk.open("/", OpenMode::kDirectory));
  write(disk, fd, "newer", 0);
  SimDisk::Sync second = disk.begin_sync(fd);
  disk.finish_sync(second);
  disk.finish_sync(first);
  disk.crash(CrashKind::kPowerLoss);
  EXPECT_EQ(content(disk, "/a"), "newer");
}

TEST(SimDisk, AFailedSyncIsNotMadeGoodByTheNext) {
  World world(1);
  SimDisk disk(world);
  FileFd fd = durable_file(disk, "/a", "");
  write(disk, fd, "gone", 0);
  disk.fail_sync(disk.begin_sync(fd));
  ASSERT_TRUE(disk.sync(fd));
  EXPECT_EQ(content(disk, "/a"), "gone") << "still in the page cache";
  disk.crash(CrashKind::kPowerLoss);
  EXPECT_EQ(content(disk, "/a"), "");
}

TEST(SimDisk, EveryDescriptorIsToldOnceOfAFailedSync) {
  World world(1);
  SimDisk disk(world);
  FileFd fd = durable_file(disk, "/a", "");
  FileFd other = *disk.open("/a", OpenMode::kReadWrite);
  FileFd unconcerned = durable_file(disk, "/b", "");
  FileFd directory = *disk.open("/", OpenMode::kDirectory);
  write(disk, fd, "gone", 0);
  disk.fail_sync(disk.begin_file_system_sync(directory));
  EXPECT_TRUE(disk.sync(unconcerned));
  EXPECT_TRUE(disk.sync_file_system(directory)) << "told by the failure";
  // Nobody's sync of the file has told it yet: who opens it now is told too.
  FileFd late = *disk.open("/a", OpenMode::kReadWrite);
  for (FileFd each : {fd, other, late}) {
    EXPECT_FALSE(disk.sync(each));
    EXPECT_TRUE(disk.sync(each));
  }
  EXPECT_TRUE(disk.sync(*disk.open("/a", OpenMode::kReadWrite)));
  EXPECT_TRUE(disk.sync_file_system(*disk.open("/", OpenMode::kDirectory)));
}

TEST(SimDisk, FileSystemSyncCoversNamesAndBytes) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(seed);
    SimDisk disk(world);
    ASSERT_TRUE(disk.make_directory("/d"));
    FileFd fd = *disk.open("/d/a", OpenMode::kCreate);
    write(disk, fd, "kept", 0);
    disk.finish_sync(disk.begin_file_system_sync(*disk.open("/d", OpenMode::kDirectory)));
    disk.crash(CrashKind::kPowerLoss);
    EXPECT_EQ(content(disk, "/d/a"), "kept");
  }
}

}  // namespace
}  // namespace pelton::sim
