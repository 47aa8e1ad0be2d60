#include "reactor/base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "reactor/base/printable.h"

namespace pelton {
namespace {

TEST(Printable, ControlBytesAreEscaped) {
  EXPECT_EQ(printable("a key\x1b[31m\n[2026] I forged\x7f\r\t"),
            "a key\\x1b[31m\\x0a[2026] I forged\\x7f\\x0d\\x09");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("Gr\xc3\xbc\xc3\x9f" "e \xff\x80 \\ ~"), "Gr\xc3\xbc\xc3\x9f" "e \xff\x80 \\ ~");
  EXPECT_EQ(printable(""), "");
}

// stderr is a pipe while one of these lives.
class StderrPipe {
 public:
  StderrPipe() {
    EXPECT_EQ(::pipe(ends_), 0);
    before_ = ::dup(2);
    ::dup2(ends_[1], 2);
    ::close(ends_[1]);
  }
  ~StderrPipe() {
    restore();
    ::close(ends_[0]);
  }
  void restore() {
    if (before_ < 0) return;
    ::dup2(before_, 2);
    ::close(before_);
    before_ = -1;
  }
  // Until nobody has it open for writing.
  std::vector<std::string> lines() {
    std::string all;
    char piece[65536];
    for (ssize_t got; (got = ::read(ends_[0], piece, sizeof piece)) > 0;) all.append(piece, static_cast<size_t>(got));
    std::vector<std::string> lines;
    std::istringstream in(all);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  int ends_[2];
  int before_;
};

TEST(Log, ALineIsOneLine) {
  StderrPipe pipe;
  log_start(LogLevel::kInfo);
  log_warn("{} is unknown", "a\nb");
  log_stop();
  pipe.restore();
  std::vector<std::string> lines = pipe.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].ends_with("W a\\x0ab is unknown")) << lines[0];
}

TEST(Log, LinesThatAreLostAreCounted) {
  constexpr size_t kLines = 5'000;
  StderrPipe pipe;
  log_start(LogLevel::kInfo);
  // Nobody reads: a pipe takes 64 KiB, and the queue a few hundred lines more.
  for (size_t i = 0; i < kLines; ++i) log_info("{}", std::string(200, 'x'));
  std::vector<std::string> lines;
  std::jthread reader([&] { lines = pipe.lines(); });
  log_stop();
  pipe.restore();
  reader.join();
  size_t told = 0, written = 0;
  for (const std::string& line : lines) {
    size_t place = line.find(" lines of the log were lost");
    if (place == std::string::npos) {
      ++written;
      continue;
    }
    size_t first = line.rfind(' ', place - 1) + 1, lost = 0;
    std::from_chars(line.data() + first, line.data() + place, lost);
    told += lost;
  }
  EXPECT_LT(written, kLines);
  EXPECT_EQ(written + told, kLines);
}

}  // namespace
}  // namespace pelton
