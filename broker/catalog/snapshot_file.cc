#include "broker/catalog/snapshot_file.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "proto/arena.h"
#include "proto/batch_builder.h"
#include "proto/messages/control_records.h"
#include "proto/wire.h"

namespace pelton::broker {
namespace {

constexpr std::string_view kSuffix = ".checkpoint";
constexpr size_t kOffsetDigits = 20, kEpochDigits = 10;

template <class T>
std::vector<uint8_t> encoded(const T& message) {
  constexpr int16_t kVersion = 0;
  std::vector<uint8_t> value(message.size(kVersion));
  proto::WireWriter out(value);
  message.encode(out, kVersion);
  return value;
}

std::vector<uint8_t> built(const proto::BatchBuilder& builder) {
  std::vector<uint8_t> batch;
  bool done = builder.build(batch).has_value();
  CHECK(done, "an uncompressed batch is always built");
  return batch;
}

}  // namespace

std::string SnapshotName::file() const {
  return fmt::format("{:020}-{:010}{}", end_offset, epoch, kSuffix);
}

std::optional<SnapshotName> parse_snapshot_name(std::string_view file) {
  if (file.size() != kOffsetDigits + 1 + kEpochDigits + kSuffix.size() || !file.ends_with(kSuffix)) {
    return std::nullopt;
  }
  SnapshotName name;
  const char* first = file.data();
  const char* epoch = first + kOffsetDigits + 1;
  auto offset_read = std::from_chars(first, first + kOffsetDigits, name.end_offset);
  auto epoch_read = std::from_chars(epoch, epoch + kEpochDigits, name.epoch);
  if (offset_read.ptr != epoch - 1 || *offset_read.ptr != '-' || epoch_read.ptr != epoch + kEpochDigits) {
    return std::nullopt;
  }
  return name;
}

std::vector<SnapshotName> list_snapshots(FileSystem& files, const std::string& directory) {
  std::vector<SnapshotName> names;
  auto entries = files.list(directory);
  if (!entries) return names;
  for (const DirectoryEntry& entry : *entries) {
    if (auto name = parse_snapshot_name(entry.name)) names.push_back(*name);
  }
  std::ranges::sort(names);
  return names;
}

void remove_unfinished_snapshots(FileSystem& files, const std::string& directory) {
  auto entries = files.list(directory);
  if (!entries) return;
  for (const DirectoryEntry& entry : *entries) {
    std::string_view name = entry.name;
    if (!name.ends_with(kUnfinishedSnapshotSuffix)) continue;
    name.remove_suffix(kUnfinishedSnapshotSuffix.size());
    // One that stays is overwritten or tried again at the next start.
    if (parse_snapshot_name(name)) (void)files.unlink(directory + "/" + entry.name);
  }
}

std::vector<uint8_t> SnapshotBatches::header(const CatalogReplay& state) {
  proto::BatchBuilder builder(
      {.base_offset = next_offset_, .partition_leader_epoch = epoch_, .control = true});
  proto::SnapshotHeaderRecord header;
  header.last_contained_log_timestamp = state.last_timestamp();
  builder.append_control(now_ms_, proto::ControlType::kSnapshotHeader, encoded(header));
  if (!state.kraft_version().empty()) {
    builder.append_control(now_ms_, proto::ControlType::kKraftVersion, state.kraft_version());
  }
  if (!state.voters().empty()) {
    builder.append_control(now_ms_, proto::ControlType::kKraftVoters, state.voters());
  }
  next_offset_ += builder.count();
  return built(builder);
}

std::vector<uint8_t> SnapshotBatches::data(const MetadataRecords& records) {
  proto::BatchBuilder builder({.base_offset = next_offset_, .partition_leader_epoch = epoch_});
  for (size_t i = 0; i < records.count(); ++i) builder.append(now_ms_, std::nullopt, records.value(i));
  next_offset_ += builder.count();
  return built(builder);
}

std::vector<uint8_t> SnapshotBatches::footer() {
  proto::BatchBuilder builder(
      {.base_offset = next_offset_, .partition_leader_epoch = epoch_, .control = true});
  builder.append_control(now_ms_, proto::ControlType::kSnapshotFooter, encoded(proto::SnapshotFooterRecord{}));
  return built(builder);
}

std::optional<int64_t> last_contained_timestamp(Bytes beginning) {
  proto::BatchIterator batches(beginning);
  auto batch = batches.next();
  if (!batch || !batch->control()) return std::nullopt;
  proto::RecordIterator records = batch->records();
  proto::RecordView record;
  if (!records.next(record) || !record.key || !record.value) return std::nullopt;
  auto type = proto::control_type(*record.key);
  if (!type || *type != static_cast<int16_t>(proto::ControlType::kSnapshotHeader)) return std::nullopt;
  std::vector<uint8_t> value(record.value->begin(), record.value->end());
  proto::Arena arena(proto::Arena::limit_for(value.size()));
  proto::WireReader in(value, arena);
  proto::SnapshotHeaderRecord header;
  constexpr int16_t kVersion = 0;
  header.decode(in, kVersion);
  if (!in.ok()) return std::nullopt;
  return header.last_contained_log_timestamp;
}

}  // namespace pelton::broker
