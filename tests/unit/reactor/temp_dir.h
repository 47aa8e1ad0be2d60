// A directory of a test's own under the system's temporary directory, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "reactor/base/check.h"

namespace pelton::test {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "pelton-XXXXXX").string()) {
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace pelton::test
