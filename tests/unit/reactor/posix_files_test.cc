#include "reactor/posix_files.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "tests/unit/reactor/temp_dir.h"

namespace pelton {
namespace {

struct PosixFilesTest : testing::Test {
  PosixFiles files;
  test::TempDir dir;

  FileFd open(const std::string& name, OpenMode mode = OpenMode::kCreate) {
    auto fd = files.open(dir / name, mode);
    CHECK(fd.has_value());
    return *fd;
  }
  void write(FileFd fd, std::string text, uint64_t position) {
    iovec piece{text.data(), text.size()};
    ASSERT_TRUE(files.pwritev(fd, &piece, 1, position));
  }
  std::string read(FileFd fd, size_t length, uint64_t position) {
    std::string text(length, '?');
    auto got = files.pread(fd, {reinterpret_cast<uint8_t*>(text.data()), length}, position);
    CHECK(got.has_value());
    text.resize(*got);
    return text;
  }
};

TEST_F(PosixFilesTest, OpenModes) {
  EXPECT_EQ(files.open(dir / "a", OpenMode::kRead).error().code, ENOENT);
  EXPECT_EQ(files.open(dir / "a", OpenMode::kReadWrite).error().code, ENOENT);
  files.close(open("a", OpenMode::kCreateNew));
  EXPECT_EQ(files.open(dir / "a", OpenMode::kCreateNew).error().code, EEXIST);
  files.close(open("a", OpenMode::kCreate));
  files.close(open("a", OpenMode::kReadWrite));
  EXPECT_EQ(files.open(dir / "a", OpenMode::kDirectory).error().code, ENOTDIR);
  files.close(open(".", OpenMode::kDirectory));
}

TEST_F(PosixFilesTest, WritesPiecesAndReadsThemShortAtTheEnd) {
  FileFd fd = open("a");
  std::string one = "hello ", two = "world";
  std::array<iovec, 2> pieces{iovec{one.data(), one.size()}, iovec{two.data(), two.size()}};
  ASSERT_TRUE(files.pwritev(fd, pieces.data(), 2, 3));
  EXPECT_EQ(files.size(fd), 14u);
  EXPECT_EQ(read(fd, 100, 3), "hello world");
  EXPECT_EQ(read(fd, 100, 14), "");
  ASSERT_TRUE(files.truncate(fd, 8));
  EXPECT_EQ(read(fd, 100, 3), "hello");
  files.close(fd);
}

TEST_F(PosixFilesTest, WritesMorePiecesThanOneCallTakes) {
  FileFd fd = open("a");
  std::string text(3 * IOV_MAX, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  std::vector<iovec> pieces;
  for (char& c : text) pieces.push_back({&c, 1});
  ASSERT_TRUE(files.pwritev(fd, pieces.data(), static_cast<int>(pieces.size()), 0));
  EXPECT_EQ(read(fd, text.size() + 1, 0), text);
  files.close(fd);
}

TEST_F(PosixFilesTest, ReserveKeepsTheSize) {
  FileFd fd = open("a");
  write(fd, "abc", 0);
  ASSERT_TRUE(files.reserve(fd, 0, 1 << 20));
  EXPECT_EQ(files.size(fd), 3u);
  struct stat info;
  ASSERT_EQ(::fstat(fd, &info), 0);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);
  files.start_writeback(fd, 0, 3);
  EXPECT_TRUE(files.sync(fd));
  files.close(fd);
}

TEST_F(PosixFilesTest, ErrorsAreErrnos) {
  files.close(open("a"));
  FileFd fd = open("a", OpenMode::kRead);
  iovec piece{const_cast<char*>("x"), 1};
  EXPECT_EQ(files.pwritev(fd, &piece, 1, 0).error().code, EBADF);
  EXPECT_EQ(files.truncate(fd, 0).error().code, EINVAL);
  files.close(fd);
  EXPECT_EQ(files.rename(dir / "none", dir / "b").error().code, ENOENT);
  EXPECT_EQ(files.unlink(dir / "none").error().code, ENOENT);
  EXPECT_EQ(files.list(dir / "none").error().code, ENOENT);
  EXPECT_EQ(files.modified_ms(dir / "none").error().code, ENOENT);
  EXPECT_EQ(files.sync_directory(dir / "none").error().code, ENOENT);
  EXPECT_EQ(files.sync_file_system(-1).error().code, EBADF);
}

TEST_F(PosixFilesTest, Directories) {
  ASSERT_TRUE(files.make_directory(dir / "d"));
  ASSERT_TRUE(files.make_directory(dir / "d"));
  files.close(open("d/x"));
  files.close(open("b"));
  EXPECT_EQ(files.remove_directory(dir / "d").error().code, ENOTEMPTY);
  auto entries = files.list(dir.path());
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "b");
  EXPECT_FALSE((*entries)[0].is_directory);
  EXPECT_EQ((*entries)[1].name, "d");
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_TRUE(files.exists(dir / "d/x"));
  ASSERT_TRUE(files.rename(dir / "d/x", dir / "d/y"));
  EXPECT_FALSE(files.exists(dir / "d/x"));
  EXPECT_TRUE(files.sync_directory(dir / "d"));
  auto directory = files.open(dir.path(), OpenMode::kDirectory);
  ASSERT_TRUE(directory);
  EXPECT_TRUE(files.sync_file_system(*directory));
  files.close(*directory);
  ASSERT_TRUE(files.unlink(dir / "d/y"));
  ASSERT_TRUE(files.remove_directory(dir / "d"));
  EXPECT_FALSE(files.exists(dir / "d"));
}

TEST_F(PosixFilesTest, ModificationTime) {
  files.close(open("a"));
  timespec times[2] = {{1'700'000'000, 123'000'000}, {1'700'000'000, 123'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "a").c_str(), times, 0), 0);
  EXPECT_EQ(files.modified_ms(dir / "a"), 1'700'000'000'123);
}

TEST_F(PosixFilesTest, LockExcludes) {
  auto first = files.lock(dir / ".lock");
  ASSERT_TRUE(first);
  EXPECT_EQ(files.lock(dir / ".lock").error().code, EWOULDBLOCK);
  files.close(*first);
  auto second = files.lock(dir / ".lock");
  ASSERT_TRUE(second);
  files.close(*second);
}

TEST_F(PosixFilesTest, WholeFiles) {
  EXPECT_EQ(read_file(files, dir / "m", 100).error().code, ENOENT);
  ASSERT_TRUE(write_file_atomically(files, dir / "m", "a longer first text"));
  ASSERT_TRUE(write_file_atomically(files, dir / "m", "second"));
  EXPECT_EQ(read_file(files, dir / "m", 6), "second");
  EXPECT_EQ(read_file(files, dir / "m", 5).error().code, EFBIG);
  EXPECT_FALSE(files.exists(dir / "m.tmp"));
  // A longer left-over of a crash does not leak into the new file.
  write(open("m.tmp"), "left over from a crash", 0);
  ASSERT_TRUE(write_file_atomically(files, dir / "m", "third"));
  EXPECT_EQ(read_file(files, dir / "m", 100), "third");
  EXPECT_EQ(write_file_atomically(files, dir / "none/m", "x").error().code, ENOENT);
}

}  // namespace
}  // namespace pelton
