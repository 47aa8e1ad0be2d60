#include "bench/load/options.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>

#include "bench/load/sockets.h"

namespace pelton::bench {
namespace {

int64_t parsed(const std::string& name, std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  errno = 0;
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    fail(fmt::format("{}: '{}' is no number", name, text));
  return value;
}

}  // namespace

Options::Options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--") {
      rest_.assign(argv + i + 1, argv + argc);
      return;
    }
    errno = 0;
    if (!name.starts_with("--") || i + 1 == argc)
      fail(fmt::format("'{}': --name value wanted", name));
    given_.emplace(name, argv[++i]);
  }
}

std::string Options::text(const std::string& name, std::string_view otherwise) {
  known_.insert(name);
  auto found = given_.find(name);
  return found == given_.end() ? std::string(otherwise) : found->second;
}

int64_t Options::number(const std::string& name, int64_t otherwise) {
  std::string given = text(name, "");
  return given.empty() ? otherwise : parsed(name, given);
}

std::vector<std::string> Options::all(const std::string& name) {
  known_.insert(name);
  std::vector<std::string> values;
  auto [first, last] = given_.equal_range(name);
  for (auto each = first; each != last; ++each) values.push_back(each->second);
  return values;
}

std::vector<int64_t> Options::numbers(const std::string& name, std::string_view otherwise) {
  std::string list = text(name, otherwise);
  std::vector<int64_t> values;
  for (size_t at = 0; at <= list.size();) {
    size_t comma = std::min(list.find(',', at), list.size());
    values.push_back(parsed(name, std::string_view(list).substr(at, comma - at)));
    at = comma + 1;
  }
  return values;
}

void Options::done() const {
  errno = 0;
  for (const auto& [name, value] : given_)
    if (!known_.contains(name)) fail(fmt::format("unknown option {}", name));
}

}  // namespace pelton::bench
