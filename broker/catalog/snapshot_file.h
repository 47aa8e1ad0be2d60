// Files of metadata snapshots, <20 digits: end offset>-<10 digits: epoch>.checkpoint: their names, and the
// control batches at their beginning and end.
//
// A file holds batches like a log's, with offsets of its own from 0 on: a control batch with
// SnapshotHeaderRecord (and the quorum's records, when it can change), data batches, a control batch with
// SnapshotFooterRecord. It gets its name when it is whole and on stable storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/catalog/metadata_record.h"
#include "broker/catalog/replay.h"
#include "reactor/base/bytes.h"
#include "reactor/file_system.h"

namespace pelton::broker {

inline constexpr std::string_view kUnfinishedSnapshotSuffix = ".part";

struct SnapshotName {
  int64_t end_offset = -1;
  int32_t epoch = -1;

  std::string file() const;  // "00000000000000000251-0000000002.checkpoint"
  friend auto operator<=>(const SnapshotName&, const SnapshotName&) = default;
};

// nullopt: not the name of a snapshot.
std::optional<SnapshotName> parse_snapshot_name(std::string_view file);
// All in the directory, the oldest first.
std::vector<SnapshotName> list_snapshots(FileSystem& files, const std::string& directory);
// Removes what a crash left of snapshots that were being written.
void remove_unfinished_snapshots(FileSystem& files, const std::string& directory);

// Batches of a file, made one after another.
class SnapshotBatches {
 public:
  SnapshotBatches(int32_t epoch, int64_t now_ms) : epoch_(epoch), now_ms_(now_ms) {}

  // The first one. `state` is what the snapshot is of.
  std::vector<uint8_t> header(const CatalogReplay& state);
  std::vector<uint8_t> data(const MetadataRecords& records);
  std::vector<uint8_t> footer();

 private:
  int32_t epoch_;
  int64_t now_ms_;
  int64_t next_offset_ = 0;
};

// The time of the newest record that a snapshot contains, from its first bytes; nullopt when they say nothing
// like that.
std::optional<int64_t> last_contained_timestamp(Bytes beginning);

}  // namespace pelton::broker
