#include "storage/meta_properties.h"

#include <optional>

#include <fmt/format.h>

#include "storage/checkpoint.h"

namespace pelton::storage {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Java writes '\' before ':', '=', '#', '!' and itself.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain.push_back(text[i]);
  }
  return plain;
}

struct RawProperties {
  std::optional<std::string> version, node_id, cluster_id, directory_id;
};

void take_line(std::string_view line, RawProperties& raw) {
  line = trimmed(line);
  if (line.empty() || line[0] == '#' || line[0] == '!') return;
  size_t equals = line.find('=');
  if (equals == std::string_view::npos) return;
  std::string_view key = trimmed(line.substr(0, equals));
  std::string value = unescaped(trimmed(line.substr(equals + 1)));
  if (key == "version") raw.version = value;
  if (key == "node.id") raw.node_id = value;
  if (key == "cluster.id") raw.cluster_id = value;
  if (key == "directory.id") raw.directory_id = value;
}

}  // namespace

std::string format_meta_properties(const MetaProperties& properties) {
  return fmt::format("#\ncluster.id={}\ndirectory.id={}\nnode.id={}\nversion=1\n",
                     properties.cluster_id, properties.directory_id.to_string(), properties.node_id);
}

Result<MetaProperties, std::string> parse_meta_properties(std::string_view text) {
  RawProperties raw;
  while (!text.empty()) {
    size_t end = text.find('\n');
    take_line(text.substr(0, end), raw);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (!raw.version) return std::unexpected("it has no version");
  if (*raw.version != "1") {
    return std::unexpected(fmt::format("its version is {}, only version 1 is known", *raw.version));
  }
  MetaProperties properties;
  std::optional<int32_t> node_id;
  if (raw.node_id) node_id = parse_number<int32_t>(*raw.node_id);
  if (!node_id || *node_id < 0) return std::unexpected("node.id is missing or no number");
  properties.node_id = *node_id;
  if (!raw.cluster_id || raw.cluster_id->empty()) return std::unexpected("cluster.id is missing");
  properties.cluster_id = *raw.cluster_id;
  if (raw.directory_id) {
    std::optional<Uuid> id = Uuid::parse(*raw.directory_id);
    if (!id) return std::unexpected("directory.id is no id");
    properties.directory_id = *id;
  }
  return properties;
}

}  // namespace pelton::storage
