#include "storage/checkpoint.h"

#include <charconv>

#include <fmt/format.h>

#include "storage/open_file.h"

namespace pelton::storage {
namespace {

// Takes the text up to the next `separator` (or the end) off the front.
std::string_view take_until(std::string_view& text, char separator) {
  size_t end = text.find(separator);
  std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

// The version and count lines every checkpoint starts with. The count is held against the bytes left: a
// line takes at least `shortest_line` of them.
std::optional<size_t> take_header(std::string_view& text, size_t shortest_line) {
  if (take_until(text, '\n') != "0") return std::nullopt;
  std::optional<uint64_t> count = parse_number<uint64_t>(take_until(text, '\n'));
  if (!count || *count > text.size() / shortest_line + 1) return std::nullopt;
  return static_cast<size_t>(*count);
}

std::optional<OffsetCheckpointEntry> parse_offset_line(std::string_view line) {
  std::string_view topic = take_until(line, ' ');
  std::optional<int32_t> partition = parse_number<int32_t>(take_until(line, ' '));
  std::optional<int64_t> offset = parse_number<int64_t>(line);
  if (topic.empty() || !partition || *partition < 0 || !offset) return std::nullopt;
  return OffsetCheckpointEntry{std::string(topic), *partition, *offset};
}

}  // namespace

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
template std::optional<int16_t> parse_number(std::string_view);
template std::optional<int32_t> parse_number(std::string_view);
template std::optional<int64_t> parse_number(std::string_view);
template std::optional<uint64_t> parse_number(std::string_view);

std::string format_offset_checkpoint(const std::vector<OffsetCheckpointEntry>& entries) {
  std::string text = fmt::format("0\n{}\n", entries.size());
  for (const OffsetCheckpointEntry& entry : entries) {
    fmt::format_to(std::back_inserter(text), "{} {} {}\n", entry.topic, entry.partition, entry.offset);
  }
  return text;
}

std::optional<std::vector<OffsetCheckpointEntry>> parse_offset_checkpoint(std::string_view text) {
  std::optional<size_t> count = take_header(text, sizeof("t 0 0"));
  if (!count) return std::nullopt;
  std::vector<OffsetCheckpointEntry> entries;
  entries.reserve(*count);
  for (size_t i = 0; i < *count; ++i) {
    std::optional<OffsetCheckpointEntry> entry = parse_offset_line(take_until(text, '\n'));
    if (!entry) return std::nullopt;
    entries.push_back(std::move(*entry));
  }
  if (!text.empty()) return std::nullopt;
  return entries;
}

std::string format_leader_epochs(const std::vector<LeaderEpochEntry>& entries) {
  std::string text = fmt::format("0\n{}\n", entries.size());
  for (const LeaderEpochEntry& entry : entries) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", entry.epoch, entry.start_offset);
  }
  return text;
}

std::optional<std::vector<LeaderEpochEntry>> parse_leader_epochs(std::string_view text) {
  std::optional<size_t> count = take_header(text, sizeof("0 0"));
  if (!count) return std::nullopt;
  std::vector<LeaderEpochEntry> entries;
  entries.reserve(*count);
  for (size_t i = 0; i < *count; ++i) {
    std::string_view line = take_until(text, '\n');
    std::optional<int32_t> epoch = parse_number<int32_t>(take_until(line, ' '));
    std::optional<int64_t> start = parse_number<int64_t>(line);
    if (!epoch || *epoch < 0 || !start || *start < 0) return std::nullopt;
    entries.push_back({*epoch, *start});
  }
  if (!text.empty()) return std::nullopt;
  return entries;
}

std::string format_partition_metadata(Uuid topic_id) {
  return fmt::format("version: 0\ntopic_id: {}", topic_id.to_string());
}

std::optional<Uuid> parse_partition_metadata(std::string_view text) {
  constexpr std::string_view kTopicId = "topic_id: ";
  if (take_until(text, '\n') != "version: 0") return std::nullopt;
  std::string_view line = take_until(text, '\n');
  if (!line.starts_with(kTopicId)) return std::nullopt;
  return Uuid::parse(line.substr(kTopicId.size()));
}

std::string format_clean_shutdown(int64_t broker_epoch) {
  return fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", broker_epoch);
}

Status replace_file_unsynced(FileSystem& files, const std::string& path, std::string_view text) {
  std::string temporary = path + ".tmp";
  {
    Result<OpenFile> file = OpenFile::open(files, temporary, OpenMode::kCreate);
    if (!file) return std::unexpected(file.error());
    if (Status cut = files.truncate(file->fd(), 0); !cut) return cut;
    iovec piece{const_cast<char*>(text.data()), text.size()};
    if (Status wrote = files.pwritev(file->fd(), &piece, 1, 0); !wrote) return wrote;
  }
  return files.rename(temporary, path);
}

Status write_new_file(FileSystem& files, const std::string& path, std::string_view text) {
  Result<OpenFile> file = OpenFile::open(files, path, OpenMode::kCreateNew);
  if (!file) return std::unexpected(file.error());
  iovec piece{const_cast<char*>(text.data()), text.size()};
  return files.pwritev(file->fd(), &piece, 1, 0);
}

}  // namespace pelton::storage
