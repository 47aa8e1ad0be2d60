// MetadataSnapshots: writes a snapshot of the catalog when the metadata log has grown by
// metadata.log.max.record.bytes.between.snapshots, or metadata.log.max.snapshot.interval.ms after the first change
// since the last one; then lets go of what metadata.max.retention.* makes superfluous: older snapshots, and the
// log before the oldest snapshot that stays.
//
// Owner shard: kCatalogShard; owned by the writer of the catalog. A snapshot is written a piece a turn; at most one
// at a time. Order: file synced, named, name synced, only then is anything deleted: after a crash at any point a
// start finds a whole snapshot and the log from its end on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/catalog/replay.h"
#include "broker/catalog/snapshot_file.h"
#include "broker/catalog/snapshot_records.h"
#include "broker/partition.h"
#include "reactor/completion.h"
#include "reactor/io.h"
#include "reactor/timer_wheel.h"

namespace pelton::broker {

class MetadataSnapshots {
 public:
  // `log`: the metadata log, open.
  MetadataSnapshots(BrokerShard& here, Partition& log);
  // Waits for the sync in flight.
  ~MetadataSnapshots();

  // Start-up: `bytes` of the log are behind its newest snapshot. Blocking.
  void loaded(uint64_t bytes);
  // `bytes` more are committed and replayed; `state` says what is committed, `snapshot` is made from it.
  void committed(size_t bytes, const CatalogReplay& state,
                 const std::shared_ptr<const CatalogSnapshot>& snapshot);
  // Nothing is begun any more; what is being written is given up.
  void stop();

 private:
  struct File {
    SnapshotName name;
    uint64_t size = 0;
    int64_t newest_record_ms = 0;
  };
  enum class Step { kIdle, kWriting, kSyncing, kNaming };

  bool due() const;
  void begin(const CatalogReplay& state, std::shared_ptr<const CatalogSnapshot> snapshot);
  void write_piece(int32_t);
  Status write(const std::vector<uint8_t>& batch);
  void sync_file();
  void on_synced(int32_t result);
  void name_file();
  void written();
  void give_up(SysError why);
  void close_file();
  void clean();
  uint64_t total_bytes() const;
  bool expired(const File& file, int64_t now_ms) const;
  void drop_oldest();
  std::string path(const SnapshotName& name) const;

  BrokerShard& here_;
  Partition& log_;
  std::vector<File> files_;  // whole snapshots, the oldest first

  uint64_t bytes_since_ = 0;       // in the log behind the newest snapshot
  uint64_t changed_since_ns_ = 0;  // time of the first change behind it; 0: none
  uint64_t not_before_ns_ = 0;     // after a failure
  bool stopped_ = false;

  // the one that is being written
  Step step_ = Step::kIdle;
  std::unique_ptr<SnapshotRecords> records_;
  std::unique_ptr<SnapshotBatches> batches_;
  SnapshotName name_;
  int64_t newest_record_ms_ = 0;
  FileFd file_ = -1;
  FileFd directory_ = -1;
  uint64_t size_ = 0;
  uint64_t bytes_at_begin_ = 0;
  Completion next_piece_;
  Op sync_;
};

}  // namespace pelton::broker
