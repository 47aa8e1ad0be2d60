#include "storage/log_dir_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "storage/checkpoint.h"

namespace pelton::storage {
namespace {

constexpr size_t kMaxNameBytes = 255;
constexpr std::string_view kDeleteMark = "-delete";
constexpr std::string_view kStrayMark = "-stray";
constexpr size_t kHexDigits = 32;

std::string marked_name(const TopicPartition& id, const Uuid& unique, std::string_view mark) {
  std::string suffix = fmt::format("-{}.", id.partition);
  for (uint8_t byte : unique.bytes) suffix += fmt::format("{:02x}", byte);
  suffix += mark;
  return id.topic.substr(0, std::min(id.topic.size(), kMaxNameBytes - suffix.size())) + suffix;
}

}  // namespace

std::optional<TopicPartition> parse_partition_directory(std::string_view name) {
  size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  std::string_view number = name.substr(dash + 1);
  std::optional<int32_t> partition = parse_number<int32_t>(number);
  // "-007" or "--1" would be another directory for the same partition.
  if (!partition || *partition < 0 || std::to_string(*partition) != number) return std::nullopt;
  return TopicPartition{std::string(name.substr(0, dash)), *partition};
}

bool is_deleted_directory(std::string_view name) {
  if (!name.ends_with(kDeleteMark)) return false;
  name.remove_suffix(kDeleteMark.size());
  if (name.size() <= kHexDigits || name[name.size() - kHexDigits - 1] != '.') return false;
  std::string_view hex = name.substr(name.size() - kHexDigits);
  return hex.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string deleted_directory_name(const TopicPartition& id, const Uuid& unique) {
  return marked_name(id, unique, kDeleteMark);
}

std::string stray_directory_name(const TopicPartition& id, const Uuid& unique) {
  return marked_name(id, unique, kStrayMark);
}

}  // namespace pelton::storage
