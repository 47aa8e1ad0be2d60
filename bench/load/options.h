// Command line of the bench's programs: --name value, and what follows `--`. An option that the
// program did not ask for ends it, so that a misspelt one is not a silent default.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pelton::bench {

class Options {
 public:
  Options(int argc, char** argv);

  std::string text(const std::string& name, std::string_view otherwise);
  int64_t number(const std::string& name, int64_t otherwise);
  std::vector<std::string> all(const std::string& name);
  // Comma-separated numbers.
  std::vector<int64_t> numbers(const std::string& name, std::string_view otherwise);
  // Call after the last option was asked for: what is left over is an error.
  void done() const;
  const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::multimap<std::string, std::string> given_;
  std::set<std::string> known_;
  std::vector<std::string> rest_;
};

}  // namespace pelton::bench
